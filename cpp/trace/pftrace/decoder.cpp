// SPDX-License-Identifier: BSD-3-Clause
// trace/pftrace/decoder.cpp: packets and events of tracks.
#include "trace/pftrace/decoder.h"

#include <optional>

#include "trace/json_out.h"
#include "trace/pftrace/fields.h"
#include "trace/pftrace/values.h"

namespace tta::trace::pftrace {
namespace {

std::int64_t ns(const Value& us) {  // as a file states it: no overflow
  return static_cast<std::int64_t>(us.number * 1000);
}

// Repeated numbers are packed or not, as the writer likes.
void add_numbers(const Value& value, std::vector<std::uint64_t>& to) {
  if (value.content.empty()) return to.push_back(value.number);
  using Each = protozero::const_fixed_iterator<std::uint64_t>;
  const auto* const first = value.content.data();
  to.insert(to.end(), Each(first),
            Each(first +
                 value.content.size() / sizeof(std::uint64_t) * sizeof(std::uint64_t)));
}

}  // namespace

void Decoder::packet(std::string_view bytes) {
  try {
    read(bytes);
  } catch (const protozero::exception&) {
    throw BadPacket("a packet breaks the form of a protobuf");
  }
}

void Decoder::read(std::string_view bytes) {
  // An event without fields is one all the same.
  std::optional<std::string_view> event_bytes, work_bytes, counter_bytes;
  std::optional<std::int64_t> timestamp;
  std::optional<std::uint32_t> clock;
  std::string_view interned_bytes, clock_bytes, default_bytes, thread_bytes,
      track_bytes;
  std::uint32_t sequence_id = 0;
  bool cleared = false;
  each_field<Packet>(bytes, [&](Packet field, const Value& value) {
    switch (field) {
      case Packet::kTimestamp:
        return void(timestamp = value.integer());
      case Packet::kSequence:
        return void(sequence_id = static_cast<std::uint32_t>(value.number));
      case Packet::kSequenceFlags:
        return void(cleared = cleared || (value.number & kFlagStateCleared) != 0);
      case Packet::kStateCleared:
        return void(cleared = cleared || value.number != 0);
      case Packet::kClock:
        return void(clock = static_cast<std::uint32_t>(value.number));
      case Packet::kTrackEvent:
        return void(event_bytes = value.content);
      case Packet::kGpuWork:
        return void(work_bytes = value.content);
      case Packet::kGpuCounters:
        return void(counter_bytes = value.content);
      case Packet::kInterned:
        return void(interned_bytes = value.content);
      case Packet::kClockSnapshot:
        return void(clock_bytes = value.content);
      case Packet::kDefaults:
        return void(default_bytes = value.content);
      case Packet::kThread:
        return void(thread_bytes = value.content);
      case Packet::kTrack:
        return void(track_bytes = value.content);
      case Packet::kChromeEvents:
        return chrome(value.content);
      default:
        return;
    }
  });
  Sequence& sequence = sequences_[sequence_id];
  if (cleared) {
    auto clocks = std::move(sequence.clocks);
    sequence = {};
    sequence.clocks = std::move(clocks);
  }
  defaults(default_bytes, sequence);
  interned(interned_bytes, sequence);
  snapshot(clock_bytes, sequence);
  each_field<Thread>(thread_bytes, [&](Thread field, const Value& value) {
    if (field == Thread::kReferenceUs) sequence.reference_ns = ns(value);
  });
  TrackEvent out;
  out.track = sequence.track;
  if (timestamp) {
    out.ts = time(*timestamp, clock.value_or(sequence.clock), sequence);
  }
  if (!track_bytes.empty()) track(track_bytes, out.ts);
  if (event_bytes) event(*event_bytes, sequence, out);
  if (work_bytes) work(*work_bytes, sequence, out);
  if (counter_bytes) gpu_counters(*counter_bytes, sequence, out);
}

void Decoder::event(std::string_view bytes, Sequence& sequence, TrackEvent& out) {
  auto type = EventType::kUnspecified;
  std::optional<std::uint64_t> name, category;
  std::string_view legacy_bytes;
  std::vector<std::string_view> annotations;
  each_field<Event>(bytes, [&](Event field, const Value& value) {
    switch (field) {
      case Event::kType:
        return void(type = static_cast<EventType>(value.int32()));
      case Event::kTrack:
        return void(out.track = value.number);
      case Event::kNameId:
        return void(name = value.number);
      case Event::kName:
        return void(out.name = value.content);
      case Event::kCategoryId:
        return void(category = category.value_or(value.number));
      case Event::kCategory:
        if (out.category.empty()) out.category = value.content;
        return;
      case Event::kAnnotation:
        return annotations.push_back(value.content);
      case Event::kLegacy:
        return void(legacy_bytes = value.content);
      case Event::kCounter:
        return void(out.value = std::to_string(value.integer()));
      case Event::kDoubleCounter:
        return void(out.value = json_number(value.real()));
      case Event::kAbsoluteUs:
        return void(out.ts = ns(value));
      case Event::kDeltaUs:
        sequence.reference_ns = static_cast<std::int64_t>(
            static_cast<std::uint64_t>(sequence.reference_ns) + value.number * 1000);
        return void(out.ts = sequence.reference_ns);
      case Event::kOldFlow:
      case Event::kFlow:
        return add_numbers(value, out.flows);
      case Event::kOldEndOfFlow:
      case Event::kEndOfFlow:
        return add_numbers(value, out.ends_of_flows);
      default:
        return;
    }
  });
  switch (type) {
    case EventType::kBegin:
      out.kind = TrackEvent::Kind::kBegin;
      out.number = begins_++;
      break;
    case EventType::kEnd:
      out.kind = TrackEvent::Kind::kEnd;
      out.number = ends_++;
      break;
    case EventType::kInstant:
      break;
    case EventType::kCounter:
      out.kind = TrackEvent::Kind::kCounter;
      break;
    default:
      if (legacy_bytes.empty()) return;
      legacy(legacy_bytes, sequence, out);
  }
  if (name) out.name = text(sequence, kNames, *name);
  if (category && out.category.empty()) {
    out.category = text(sequence, kCategories, *category);
  }
  if (with_args_ || out.kind == TrackEvent::Kind::kEnd) {
    for (const auto each : annotations) annotation(each, sequence, out, 0, true);
  }
  take_(out);
}

void Decoder::legacy(std::string_view bytes, Sequence& sequence, TrackEvent& out) {
  out.kind = TrackEvent::Kind::kLegacy;
  each_field<Legacy>(bytes, [&](Legacy field, const Value& value) {
    switch (field) {
      case Legacy::kPhase:
        return void(out.phase = static_cast<char>(value.int32()));
      case Legacy::kNameId:
        return void(out.name = text(sequence, kNames, value.number));
      case Legacy::kDurationUs:
        return void(out.dur = ns(value));
      case Legacy::kId:
      case Legacy::kLocalId:
      case Legacy::kGlobalId:
        return void(out.id = value.number);
      default:
        return;
    }
  });
}

// Appends `key: value`, or the value alone, to the args.
void Decoder::annotation(std::string_view bytes, Sequence& sequence, TrackEvent& out,
                         int depth, bool has_key) {
  // Deeper ones are in no trace, and each level takes a frame of the stack.
  constexpr int kDeepest = 64;
  if (depth > kDeepest) throw BadPacket("args are nested more than 64 deep");
  std::string_view key;
  std::string json = "null";
  std::vector<std::string_view> entries, elements;
  each_field<Annotation>(bytes, [&](Annotation field, const Value& value) {
    switch (field) {
      case Annotation::kNameId:
        return void(key = text(sequence, kKeys, value.number));
      case Annotation::kName:
        return void(key = value.content);
      case Annotation::kBool:
        return void(json = value.number != 0 ? "true" : "false");
      case Annotation::kUint:
      case Annotation::kPointer:
        return void(json = std::to_string(value.number));
      case Annotation::kInt:
        return void(json = std::to_string(value.integer()));
      case Annotation::kDouble:
        return void(json = json_number(value.real()));
      case Annotation::kString:  // torch writes null so
        return void(json =
                        value.content == "null" ? "null" : json_string(value.content));
      case Annotation::kStringId:
        return void(json = json_string(text(sequence, kStrings, value.number)));
      case Annotation::kJson:
        return void(json = json_or_string(value.content));
      case Annotation::kEntry:
        return entries.push_back(value.content);
      case Annotation::kElement:
        return elements.push_back(value.content);
    }
  });
  std::string& args = out.args;
  const bool first = args.empty() || args.back() == '{' || args.back() == '[';
  if (!first) args += ',';
  if (has_key) {
    if (depth == 0) out.hints |= hints_of(key);
    append_json_string(args, key);
    args += ':';
  }
  const auto nest = [&](const char* brackets, const auto& inner, bool have_keys) {
    args += brackets[0];
    for (const auto each : inner) {
      annotation(each, sequence, out, depth + 1, have_keys);
    }
    args += brackets[1];
  };
  if (!entries.empty()) {
    nest("{}", entries, true);
  } else if (!elements.empty()) {
    nest("[]", elements, false);
  } else {
    args += json;
  }
}

}  // namespace tta::trace::pftrace

// SPDX-License-Identifier: BSD-3-Clause
// trace/pftrace/decoder.cpp: packets that later ones refer to, and events of tracks.
#include "trace/pftrace/decoder.h"

#include <algorithm>
#include <optional>
#include <protozero/pbf_message.hpp>

#include "trace/json_out.h"
#include "trace/pftrace/fields.h"
#include "trace/pftrace/values.h"

namespace tta::trace::pftrace {
namespace {

// Sums of times that a file states may be anything, but not undefined.
std::int64_t sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) +
                                   static_cast<std::uint64_t>(b));
}
std::int64_t product(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) *
                                   static_cast<std::uint64_t>(b));
}

// Repeated numbers are packed or not, as the writer likes.
template <typename Field>
void add_numbers(pbf_message<Field>& message, std::vector<std::uint64_t>& to) {
  switch (message.wire_type()) {
    case pbf_wire_type::fixed64:
      return to.push_back(message.get_fixed64());
    case pbf_wire_type::varint:
      return to.push_back(message.get_uint64());
    default:
      const auto packed = message.get_packed_fixed64();
      to.insert(to.end(), packed.begin(), packed.end());
  }
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
  std::optional<std::int64_t> timestamp;
  std::optional<std::uint32_t> clock;
  std::string_view event_bytes, work_bytes, counters_bytes, interned_bytes,
      clocks_bytes, defaults_bytes, thread_bytes, track_bytes;
  std::uint32_t sequence_id = 0;
  bool cleared = false;
  pbf_message<Packet> m{bytes};
  while (m.next()) {
    switch (m.tag_and_type()) {
      case number(Packet::kTimestamp):
        timestamp = m.get_int64();
        break;
      case number(Packet::kSequence):
        sequence_id = m.get_uint32();
        break;
      case number(Packet::kSequenceFlags):
        cleared = cleared || (m.get_uint32() & kFlagStateCleared) != 0;
        break;
      case number(Packet::kStateCleared):
        cleared = m.get_bool() || cleared;
        break;
      case number(Packet::kClock):
        clock = m.get_uint32();
        break;
      case content(Packet::kTrackEvent):
        event_bytes = m.get_view();
        break;
      case content(Packet::kGpuWork):
        work_bytes = m.get_view();
        break;
      case content(Packet::kGpuCounters):
        counters_bytes = m.get_view();
        break;
      case content(Packet::kInterned):
        interned_bytes = m.get_view();
        break;
      case content(Packet::kClockSnapshot):
        clocks_bytes = m.get_view();
        break;
      case content(Packet::kDefaults):
        defaults_bytes = m.get_view();
        break;
      case content(Packet::kThread):
        thread_bytes = m.get_view();
        break;
      case content(Packet::kTrack):
        track_bytes = m.get_view();
        break;
      case content(Packet::kChromeEvents):
        chrome(m.get_view());
        break;
      default:
        m.skip();
    }
  }
  Sequence& sequence = sequences_[sequence_id];
  if (cleared) {
    auto clocks = std::move(sequence.clocks);
    sequence = {};
    sequence.clocks = std::move(clocks);
  }
  if (!defaults_bytes.empty()) defaults(defaults_bytes, sequence);
  if (!interned_bytes.empty()) interned(interned_bytes, sequence);
  if (!clocks_bytes.empty()) snapshot(clocks_bytes, sequence);
  if (!thread_bytes.empty()) {
    pbf_message<Thread> thread{thread_bytes};
    while (thread.next(Thread::kReferenceUs, pbf_wire_type::varint)) {
      sequence.reference_ns = product(thread.get_int64(), 1000);
    }
  }
  TrackEvent out;
  out.track = sequence.track;
  if (timestamp) {
    out.ts = time(*timestamp, clock.value_or(sequence.clock), sequence);
  }
  if (!track_bytes.empty()) track(track_bytes, out.ts);
  // An event without fields is one all the same.
  if (event_bytes.data() != nullptr) event(event_bytes, sequence, out);
  if (work_bytes.data() != nullptr) work(work_bytes, sequence, out);
  if (counters_bytes.data() != nullptr) gpu_counters(counters_bytes, sequence, out);
}

void Decoder::defaults(std::string_view bytes, Sequence& sequence) {
  pbf_message<Defaults> m{bytes};
  while (m.next()) {
    if (m.tag_and_type() == number(Defaults::kClock)) {
      sequence.clock = m.get_uint32();
    } else if (m.tag_and_type() == content(Defaults::kTrackEvent)) {
      pbf_message<EventDefaults> event{m.get_view()};
      while (event.next(EventDefaults::kTrack, pbf_wire_type::varint)) {
        sequence.track = event.get_uint64();
      }
    } else {
      m.skip();
    }
  }
}

void Decoder::track(std::string_view bytes, std::int64_t ts) {
  Track read;
  read.ts = ts;
  std::uint64_t uuid = 0;
  const auto take_id = [](auto& m, std::int64_t& to) {
    to = static_cast<std::int32_t>(m.get_int64());
  };
  pbf_message<TrackField> m{bytes};
  while (m.next()) {
    switch (m.tag_and_type()) {
      case number(TrackField::kUuid):
        uuid = m.get_uint64();
        break;
      case number(TrackField::kParent):
        read.parent = m.get_uint64();
        break;
      case number(TrackField::kRank):
        take_id(m, read.sort);
        break;
      case content(TrackField::kName):
      case content(TrackField::kStaticName):
        if (read.name.empty()) read.name = m.get_string();
        break;
      case content(TrackField::kProcess): {
        read.has_process = true;
        pbf_message<Process> p{m.get_view()};
        while (p.next()) {
          switch (p.tag_and_type()) {
            case number(Process::kPid):
              take_id(p, read.pid);
              break;
            case number(Process::kSort):
              take_id(p, read.sort);
              break;
            case content(Process::kName):
              read.name = p.get_string();
              break;
            case content(Process::kLabels):
              read.labels = p.get_string();
              break;
            default:
              p.skip();
          }
        }
        break;
      }
      case content(TrackField::kThread): {
        read.has_thread = true;
        pbf_message<Thread> t{m.get_view()};
        while (t.next()) {
          switch (t.tag_and_type()) {
            case number(Thread::kPid):
              take_id(t, read.pid);
              break;
            case number(Thread::kTid):
              read.tid = t.get_int64();
              break;
            case number(Thread::kSort):
              take_id(t, read.sort);
              break;
            case content(Thread::kName):
              read.name = t.get_string();
              break;
            default:
              t.skip();
          }
        }
        break;
      }
      case content(TrackField::kCounter): {
        pbf_message<Counter> c{m.get_view()};
        while (c.next()) {
          if (c.tag_and_type() == number(Counter::kMultiplier)) {
            read.multiplier = c.get_int64();
          } else if (c.tag_and_type() == number(Counter::kIncremental)) {
            read.incremental = c.get_bool();
          } else {
            c.skip();
          }
        }
        break;
      }
      default:
        m.skip();
    }
  }
  tracks_[uuid] = std::move(read);
}

// Clocks are related to the first snapshot's: the time since boot if it has that.
void Decoder::snapshot(std::string_view bytes, Sequence& sequence) {
  std::vector<std::pair<std::uint32_t, ClockState>> found;
  pbf_message<Snapshot> m{bytes};
  while (m.next(Snapshot::kClock, pbf_wire_type::length_delimited)) {
    std::uint32_t id = 0;
    ClockState state;
    pbf_message<Clock> c{m.get_view()};
    while (c.next()) {
      switch (c.tag_and_type()) {
        case number(Clock::kId):
          id = c.get_uint32();
          break;
        case number(Clock::kTimestamp):
          state.now = c.get_int64();
          break;
        case number(Clock::kIncremental):
          state.incremental = c.get_bool();
          break;
        case number(Clock::kUnitNs):
          state.unit = c.get_int64();
          break;
        default:
          c.skip();
      }
    }
    state.now = product(state.now, state.unit);
    found.emplace_back(id, state);
  }
  if (reference_clock_ == 0) {
    for (const auto& [id, state] : found) {
      const bool is_global = id < kFirstOfSequence || id >= kFirstGlobal;
      if (id == kBoottime || (reference_clock_ == 0 && is_global))
        reference_clock_ = id;
    }
  }
  const auto reference = std::ranges::find(
      found, reference_clock_, [](const auto& clock) { return clock.first; });
  for (auto& [id, state] : found) {
    if (reference != found.end()) {
      state.offset = sum(reference->second.now, product(state.now, -1));
    }
    const bool is_own = id >= kFirstOfSequence && id < kFirstGlobal;
    (is_own ? sequence.clocks : clocks_)[id] = state;
  }
}

// Times of a clock that no snapshot has are taken as they are.
std::int64_t Decoder::time(std::int64_t ts, std::uint32_t clock, Sequence& sequence) {
  const bool is_own = clock >= kFirstOfSequence && clock < kFirstGlobal;
  auto& known = is_own ? sequence.clocks : clocks_;
  const auto at = known.find(clock == 0 ? kBoottime : clock);
  if (at == known.end()) return ts;
  auto& state = at->second;
  ts = product(ts, state.unit);
  if (state.incremental) ts = state.now = sum(state.now, ts);
  return sum(ts, state.offset);
}

void Decoder::chrome(std::string_view bytes) {
  pbf_message<Chrome> m{bytes};
  while (m.next(Chrome::kMetadata, pbf_wire_type::length_delimited)) {
    std::string key, value;
    pbf_message<Metadata> d{m.get_view()};
    while (d.next()) {
      switch (d.tag_and_type()) {
        case content(Metadata::kName):
          key = d.get_string();
          break;
        case content(Metadata::kString):
          value = json_string(view_of(d));
          break;
        case number(Metadata::kBool):
          value = d.get_bool() ? "true" : "false";
          break;
        case number(Metadata::kInt):
          value = std::to_string(d.get_int64());
          break;
        case content(Metadata::kJson):
          value = json_or_string(view_of(d));
          break;
        default:
          d.skip();
      }
    }
    if (!value.empty()) metadata_.emplace_back(std::move(key), std::move(value));
  }
}

void Decoder::event(std::string_view bytes, Sequence& sequence, TrackEvent& out) {
  auto type = EventType::kUnspecified;
  std::optional<std::uint64_t> name, category;
  std::string_view legacy_bytes;
  std::vector<std::string_view> annotations;
  std::vector<std::uint64_t> categories;
  pbf_message<Event> m{bytes};
  while (m.next()) {
    switch (m.tag_and_type()) {
      case number(Event::kType):
        type = static_cast<EventType>(m.get_enum());
        break;
      case number(Event::kTrack):
        out.track = m.get_uint64();
        break;
      case number(Event::kNameId):
        name = m.get_uint64();
        break;
      case content(Event::kName):
        out.name = view_of(m);
        break;
      case number(Event::kCategoryId):
        if (!category)
          category = m.get_uint64();
        else
          m.skip();
        break;
      case content(Event::kCategory):
        if (out.category.empty())
          out.category = view_of(m);
        else
          m.skip();
        break;
      case content(Event::kAnnotation):
        annotations.push_back(view_of(m));
        break;
      case content(Event::kLegacy):
        legacy_bytes = view_of(m);
        break;
      case number(Event::kCounter):
        out.value = std::to_string(m.get_int64());
        break;
      case fixed64(Event::kDoubleCounter):
        out.value = json_number(m.get_double());
        break;
      case number(Event::kAbsoluteUs):
        out.ts = product(m.get_int64(), 1000);
        break;
      case number(Event::kDeltaUs):
        sequence.reference_ns =
            sum(sequence.reference_ns, product(m.get_int64(), 1000));
        out.ts = sequence.reference_ns;
        break;
      case number(Event::kOldFlow):
      case content(Event::kFlow):
      case fixed64(Event::kFlow):
        add_numbers(m, out.flows);
        break;
      case number(Event::kOldEndOfFlow):
      case content(Event::kEndOfFlow):
      case fixed64(Event::kEndOfFlow):
        add_numbers(m, out.ends_of_flows);
        break;
      default:
        m.skip();
    }
  }
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
  pbf_message<Legacy> m{bytes};
  while (m.next()) {
    switch (m.tag_and_type()) {
      case number(Legacy::kPhase):
        out.phase = static_cast<char>(m.get_int32());
        break;
      case number(Legacy::kNameId):
        out.name = text(sequence, kNames, m.get_uint64());
        break;
      case number(Legacy::kDurationUs):
        out.dur = product(m.get_int64(), 1000);
        break;
      case number(Legacy::kId):
      case number(Legacy::kLocalId):
      case number(Legacy::kGlobalId):
        out.id = m.get_uint64();
        break;
      default:
        m.skip();
    }
  }
}

// Appends `key: value`, or the value alone, to the args.
void Decoder::annotation(std::string_view bytes, Sequence& sequence, TrackEvent& out,
                         int depth, bool has_key) {
  // Deeper ones are in no trace, and each level takes a frame of the stack.
  constexpr int kDeepest = 64;
  if (depth > kDeepest) throw BadPacket("args are nested more than 64 deep");
  std::string_view key;
  std::string value;
  std::vector<std::string_view> entries, elements;
  pbf_message<Annotation> m{bytes};
  while (m.next()) {
    switch (m.tag_and_type()) {
      case number(Annotation::kNameId):
        key = text(sequence, kKeys, m.get_uint64());
        break;
      case content(Annotation::kName):
        key = view_of(m);
        break;
      case number(Annotation::kBool):
        value = m.get_bool() ? "true" : "false";
        break;
      case number(Annotation::kUint):
      case number(Annotation::kPointer):
        value = std::to_string(m.get_uint64());
        break;
      case number(Annotation::kInt):
        value = std::to_string(m.get_int64());
        break;
      case fixed64(Annotation::kDouble):
        value = json_number(m.get_double());
        break;
      case content(Annotation::kString): {
        // torch writes null so.
        const auto string = view_of(m);
        value = string == "null" ? "null" : json_string(string);
        break;
      }
      case number(Annotation::kStringId):
        value = json_string(text(sequence, kStrings, m.get_uint64()));
        break;
      case content(Annotation::kJson):
        value = json_or_string(view_of(m));
        break;
      case content(Annotation::kEntry):
        entries.push_back(view_of(m));
        break;
      case content(Annotation::kElement):
        elements.push_back(view_of(m));
        break;
      default:
        m.skip();
    }
  }
  std::string& args = out.args;
  const bool first = args.empty() || args.back() == '{' || args.back() == '[';
  if (!first) args += ',';
  if (has_key) {
    if (depth == 0) out.hints |= hints_of(key);
    append_json_string(args, key);
    args += ':';
  }
  if (!entries.empty()) {
    args += '{';
    for (const auto entry : entries) annotation(entry, sequence, out, depth + 1, true);
    args += '}';
  } else if (!elements.empty()) {
    args += '[';
    for (const auto element : elements) {
      annotation(element, sequence, out, depth + 1, false);
    }
    args += ']';
  } else {
    args += value.empty() ? "null" : value;
  }
}

std::string_view Decoder::text(const Sequence& sequence, Table table,
                               std::uint64_t id) const {
  const auto& known = sequence.texts[table];
  const auto at = known.find(id);
  if (at != known.end()) return at->second;
  throw BadPacket("a packet refers to text number " + std::to_string(id) +
                  ", which none before it has");
}

void Decoder::add_text(std::string_view bytes, Sequence& sequence, Table table) {
  std::uint64_t id = 0;
  std::string_view text, demangled;
  pbf_message<InternedText> m{bytes};
  while (m.next()) {
    switch (m.tag_and_type()) {
      case number(InternedText::kId):
        id = m.get_uint64();
        break;
      case content(InternedText::kText):
        text = view_of(m);
        break;
      case content(InternedText::kDemangled):
        demangled = view_of(m);
        break;
      default:
        m.skip();
    }
  }
  // The third field of others is a description.
  sequence.texts[table][id] =
      table == kKernels && !demangled.empty() ? demangled : text;
}

void Decoder::interned(std::string_view bytes, Sequence& sequence) {
  pbf_message<Interned> m{bytes};
  while (m.next()) {
    switch (m.tag_and_type()) {
      case content(Interned::kCategories):
        add_text(m.get_view(), sequence, kCategories);
        break;
      case content(Interned::kEventNames):
        add_text(m.get_view(), sequence, kNames);
        break;
      case content(Interned::kAnnotationNames):
        add_text(m.get_view(), sequence, kKeys);
        break;
      case content(Interned::kAnnotationStrings):
        add_text(m.get_view(), sequence, kStrings);
        break;
      case content(Interned::kGpuSpecifications):
        add_text(m.get_view(), sequence, kSpecs);
        break;
      case content(Interned::kComputeKernels):
        add_text(m.get_view(), sequence, kKernels);
        break;
      case content(Interned::kComputeArgs):
        add_text(m.get_view(), sequence, kArgs);
        break;
      case content(Interned::kGpuCounters): {
        GpuCounterSet set;
        std::uint64_t id = 0;
        pbf_message<GpuDescriptor> d{m.get_view()};
        while (d.next()) {
          switch (d.tag_and_type()) {
            case number(GpuDescriptor::kId):
              id = d.get_uint64();
              break;
            case number(GpuDescriptor::kGpu):
              set.gpu = static_cast<std::int32_t>(d.get_int64());
              break;
            case content(GpuDescriptor::kDescriptor):
              add_specs(d.get_view(), set.names);
              break;
            default:
              d.skip();
          }
        }
        sequence.gpu_counters[id] = std::move(set);
        break;
      }
      default:
        m.skip();
    }
  }
}

}  // namespace tta::trace::pftrace

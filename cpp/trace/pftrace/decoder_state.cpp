// SPDX-License-Identifier: BSD-3-Clause
// trace/pftrace/decoder_state.cpp: what later packets refer to.
#include <algorithm>

#include "trace/json_out.h"
#include "trace/pftrace/decoder.h"
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

bool is_own(std::uint32_t clock) {
  return clock >= kFirstOfSequence && clock < kFirstGlobal;
}

}  // namespace

void Decoder::defaults(std::string_view bytes, Sequence& sequence) {
  each_field<Defaults>(bytes, [&](Defaults field, const Value& value) {
    if (field == Defaults::kClock) {
      sequence.clock = static_cast<std::uint32_t>(value.number);
    } else if (field == Defaults::kTrackEvent) {
      each_field<EventDefaults>(value.content,
                                [&](EventDefaults part, const Value& track) {
                                  if (part == EventDefaults::kTrack)
                                    sequence.track = track.number;
                                });
    }
  });
}

void Decoder::track(std::string_view bytes, std::int64_t ts) {
  Track read;
  read.ts = ts;
  std::uint64_t uuid = 0;
  const auto process = [&](Process field, const Value& value) {
    if (field == Process::kPid) read.pid = value.int32();
    if (field == Process::kSort) read.sort = value.int32();
    if (field == Process::kName) read.name = value.text();
    if (field == Process::kLabels) read.labels = value.text();
  };
  const auto thread = [&](Thread field, const Value& value) {
    if (field == Thread::kPid) read.pid = value.int32();
    if (field == Thread::kTid) read.tid = value.integer();
    if (field == Thread::kSort) read.sort = value.int32();
    if (field == Thread::kName) read.name = value.text();
  };
  const auto counter = [&](Counter field, const Value& value) {
    if (field == Counter::kMultiplier) read.multiplier = value.integer();
    if (field == Counter::kIncremental) read.incremental = value.number != 0;
  };
  each_field<TrackField>(bytes, [&](TrackField field, const Value& value) {
    switch (field) {
      case TrackField::kUuid:
        return void(uuid = value.number);
      case TrackField::kParent:
        return void(read.parent = value.number);
      case TrackField::kRank:
        return void(read.sort = value.int32());
      case TrackField::kName:
      case TrackField::kStaticName:
        if (read.name.empty()) read.name = value.text();
        return;
      case TrackField::kProcess:
        read.has_process = true;
        return each_field<Process>(value.content, process);
      case TrackField::kThread:
        read.has_thread = true;
        return each_field<Thread>(value.content, thread);
      case TrackField::kCounter:
        return each_field<Counter>(value.content, counter);
    }
  });
  tracks_[uuid] = std::move(read);
}

// Clocks are related to one of the first snapshot: the time since boot if it has that.
void Decoder::snapshot(std::string_view bytes, Sequence& sequence) {
  std::vector<std::pair<std::uint32_t, ClockState>> found;
  each_field<Snapshot>(bytes, [&](Snapshot field, const Value& one) {
    if (field != Snapshot::kClock) return;
    std::uint32_t id = 0;
    ClockState state;
    each_field<Clock>(one.content, [&](Clock part, const Value& value) {
      if (part == Clock::kId) id = static_cast<std::uint32_t>(value.number);
      if (part == Clock::kTimestamp) state.now = value.integer();
      if (part == Clock::kIncremental) state.incremental = value.number != 0;
      if (part == Clock::kUnitNs) state.unit = value.integer();
    });
    state.now = product(state.now, state.unit);
    found.emplace_back(id, state);
  });
  if (reference_clock_ == 0) {
    for (const auto& [id, state] : found) {
      const bool is_first = reference_clock_ == 0 && !is_own(id);
      if (id == kBoottime || is_first) reference_clock_ = id;
    }
  }
  const auto reference = std::ranges::find(
      found, reference_clock_, [](const auto& clock) { return clock.first; });
  for (auto& [id, state] : found) {
    if (reference != found.end()) {
      state.offset = sum(reference->second.now, product(state.now, -1));
    }
    (is_own(id) ? sequence.clocks : clocks_)[id] = state;
  }
}

// Times of a clock that no snapshot has are taken as they are.
std::int64_t Decoder::time(std::int64_t ts, std::uint32_t clock, Sequence& sequence) {
  auto& known = is_own(clock) ? sequence.clocks : clocks_;
  const auto at = known.find(clock == 0 ? kBoottime : clock);
  if (at == known.end()) return ts;
  auto& state = at->second;
  ts = product(ts, state.unit);
  if (state.incremental) ts = state.now = sum(state.now, ts);
  return sum(ts, state.offset);
}

void Decoder::chrome(std::string_view bytes) {
  each_field<Chrome>(bytes, [&](Chrome field, const Value& one) {
    if (field != Chrome::kMetadata) return;
    std::string key, json;
    each_field<Metadata>(one.content, [&](Metadata part, const Value& value) {
      if (part == Metadata::kName) key = value.text();
      if (part == Metadata::kString) json = json_string(value.content);
      if (part == Metadata::kBool) json = value.number != 0 ? "true" : "false";
      if (part == Metadata::kInt) json = std::to_string(value.integer());
      if (part == Metadata::kJson) json = json_or_string(value.content);
    });
    if (!json.empty()) metadata_.emplace_back(std::move(key), std::move(json));
  });
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
  each_field<InternedText>(bytes, [&](InternedText field, const Value& value) {
    if (field == InternedText::kId) id = value.number;
    if (field == InternedText::kText) text = value.content;
    if (field == InternedText::kDemangled) demangled = value.content;
  });
  // The third field of others is a description.
  const bool is_mangled = table == kKernels && !demangled.empty();
  sequence.texts[table][id] = is_mangled ? demangled : text;
}

void Decoder::interned(std::string_view bytes, Sequence& sequence) {
  each_field<Interned>(bytes, [&](Interned field, const Value& value) {
    switch (field) {
      case Interned::kCategories:
        return add_text(value.content, sequence, kCategories);
      case Interned::kEventNames:
        return add_text(value.content, sequence, kNames);
      case Interned::kAnnotationNames:
        return add_text(value.content, sequence, kKeys);
      case Interned::kAnnotationStrings:
        return add_text(value.content, sequence, kStrings);
      case Interned::kGpuSpecifications:
        return add_text(value.content, sequence, kSpecs);
      case Interned::kComputeKernels:
        return add_text(value.content, sequence, kKernels);
      case Interned::kComputeArgs:
        return add_text(value.content, sequence, kArgs);
      case Interned::kGpuCounters:
        return add_counters(value.content, sequence);
    }
  });
}

}  // namespace tta::trace::pftrace

// SPDX-License-Identifier: BSD-3-Clause
// write/write_pftrace.cpp: tracks first, then each track's events in order of time.
#include "write/write_pftrace.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <protozero/pbf_builder.hpp>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/args.h"
#include "trace/escapes.h"
#include "trace/order.h"
#include "trace/pftrace/fields.h"
#include "write/output.h"
#include "write/track_plan.h"

// The names of fields are not for other sources that are compiled as one with this.
namespace tta::write::packets {
namespace {

using namespace trace::pftrace;  // NOLINT
using protozero::pbf_builder;
using trace::Trace;

constexpr std::uint32_t kSequenceId = 1;

// Texts that have a number in a file, from 1; those without one yet are noted.
class Numbers {
 public:
  std::uint64_t of(std::string_view text) {
    const auto [at, is_new] =
        numbers_.try_emplace(std::string(text), numbers_.size() + 1);
    if (is_new) added_.push_back(&*at);
    return at->second;
  }
  // Writes those that were noted.
  void write(pbf_builder<Interned>& to, Interned field) {
    for (const auto* each : added_) {
      pbf_builder<InternedText> text(to, field);
      text.add_uint64(InternedText::kId, each->second);
      text.add_string(InternedText::kText, each->first);
    }
    added_.clear();
  }

 private:
  std::unordered_map<std::string, std::uint64_t> numbers_;
  std::vector<const std::pair<const std::string, std::uint64_t>*> added_;
};

std::string unquoted(std::string_view json) {
  return trace::unescape(json.substr(1, json.size() - 2));
}

// Adds a value of JSON; what only JSON can say stays text of it, and what is nested
// deeper than the reader follows.
void add_value(pbf_builder<Annotation>& to, std::string_view json, int depth = 0) {
  constexpr int kDeepest = 60;
  if (json == "true" || json == "false") {
    to.add_bool(Annotation::kBool, json == "true");
  } else if (json.starts_with('"') && json != "\"null\"") {
    to.add_string(Annotation::kString, unquoted(json));
  } else if (depth < kDeepest && (json.starts_with('{') || json.starts_with('['))) {
    bool any = false;
    const auto nest = [&](Annotation field, std::string_view key,
                          std::string_view value) {
      any = true;
      pbf_builder<Annotation> inner(to, field);
      if (field == Annotation::kEntry) {
        inner.add_string(Annotation::kName, trace::unescape(key));
      }
      add_value(inner, value, depth + 1);
    };
    trace::for_each_member(
        json, [&](auto key, auto value) { nest(Annotation::kEntry, key, value); });
    trace::for_each_element(json,
                            [&](auto value) { nest(Annotation::kElement, "", value); });
    if (!any) to.add_string(Annotation::kJson, json.data(), json.size());
  } else if (json.find_first_not_of("-0123456789") == json.npos) {
    if (const auto number = trace::as_int(json)) {
      to.add_int64(Annotation::kInt, *number);
    } else {  // of more than 63 bits
      to.add_string(Annotation::kJson, json.data(), json.size());
    }
  } else if (const auto number = trace::as_double(json)) {
    to.add_double(Annotation::kDouble, *number);
  } else {
    to.add_string(Annotation::kJson, json.data(), json.size());
  }
}

class PacketWriter {
 public:
  PacketWriter(const Trace& trace, std::ostream& out)
      : trace_(trace), c_(trace.columns), out_(out) {}

  void run() {
    metadata();
    std::vector<std::uint32_t> rows(c_.size());
    std::iota(rows.begin(), rows.end(), 0);
    args_ = trace_.read_args(rows);
    plan_ = plan_tracks(trace_);
    tracks_ = plan_.lanes.size();
    names();
    descriptors();
    for (const auto& step : plan_.steps) event(step);
  }

 private:
  template <typename Fill>
  void packet(Fill fill) {
    bytes_.clear();
    pbf_builder<TraceField> file(bytes_);
    {
      pbf_builder<Packet> packet(file, TraceField::kPacket);
      fill(packet);
    }
    out_.write(bytes_.data(), static_cast<std::streamsize>(bytes_.size()));
  }

  void metadata() {
    packet([&](auto& packet) {
      packet.add_uint32(Packet::kSequence, kSequenceId);
      packet.add_uint32(Packet::kSequenceFlags, kFlagStateCleared);
      pbf_builder<Chrome> chrome(packet, Packet::kChromeEvents);
      for (const auto& [key, json] : trace_.metadata) {
        pbf_builder<Metadata> member(chrome, Chrome::kMetadata);
        member.add_string(Metadata::kName, key);
        member.add_string(Metadata::kJson, json);
      }
    });
  }

  static bool is_number(std::int64_t id) {
    return id >= std::numeric_limits<std::int32_t>::min() &&
           id <= std::numeric_limits<std::int32_t>::max();
  }

  // --- Tracks ------------------------------------------------------------------------

  struct Named {
    std::string name, labels;
    std::int64_t sort = 0, ts = trace::kNoTime;
  };
  // Notes what processes and threads are called, and all tracks.
  void names() {
    for (const auto& lane : plan_.lanes) {
      processes_.try_emplace(lane.thread.first, 0);
      threads_.insert(lane.thread);
    }
    for (std::uint32_t row = 0; row < c_.size(); ++row) {
      if (c_.phase[row] == 'M') name(row);
      if (c_.phase[row] != 'C') continue;
      for_each_series(row, [&](const auto& series, auto) {
        processes_.try_emplace(series.first, 0);
        counters_.try_emplace(series, 0);
      });
    }
  }

  template <typename Visit>
  void for_each_series(std::uint32_t row, Visit visit) {
    trace::for_each_member(args_[row], [&](std::string_view key, auto json) {
      auto name = std::string(trace_.name(row));
      if (!key.empty() && key != "value") name += " " + trace::unescape(key);
      visit(std::pair(c_.pid[row], std::move(name)), json);
    });
  }

  void name(std::uint32_t row) {
    const auto what = trace_.name(row);
    const bool of_thread = what.starts_with("thread_");
    if (!of_thread && !what.starts_with("process_")) return;
    const Identity id{c_.pid[row], c_.tid[row]};
    processes_.try_emplace(id.first, 0);
    if (of_thread && threads_.insert(id).second) {
      plan_.lanes.push_back({id, ++tracks_, tracks_});
    }
    Named& named = of_thread ? thread_names_[id] : process_names_[id.first];
    named.ts = c_.ts[row];
    const auto text = [&](const char* key) {
      return trace::string_arg(args_[row], key).value_or("");
    };
    if (what.ends_with("_name")) named.name = text("name");
    if (what.ends_with("_labels")) named.labels = text("labels");
    if (what.ends_with("_sort_index")) {
      named.sort = trace::int_arg(args_[row], "sort_index").value_or(0);
    }
  }

  void descriptors() {
    for (auto& [pid, track] : processes_) {
      track = ++tracks_;
      descriptor(track, 0, process_names_[pid].ts,
                 [&](auto& to) { describe_process(to, pid); });
    }
    for (const auto& [thread, track, first] : plan_.lanes) {
      if (track == first) {
        descriptor(track, processes_[thread.first], thread_names_[thread].ts,
                   [&](auto& to) { describe_thread(to, thread); });
      } else {
        descriptor(track, first, trace::kNoTime,
                   [](auto& to) { to.add_string(TrackField::kName, "overlapping"); });
      }
    }
    for (auto& [series, track] : counters_) {
      track = ++tracks_;
      descriptor(track, processes_[series.first], trace::kNoTime, [&](auto& to) {
        to.add_string(TrackField::kName, series.second);
        to.add_message(TrackField::kCounter, "", 0);
      });
    }
  }

  template <typename Fill>
  void descriptor(std::uint64_t track, std::uint64_t parent, std::int64_t ts,
                  Fill fill) {
    packet([&](auto& packet) {
      begin(packet, ts);
      pbf_builder<TrackField> to(packet, Packet::kTrack);
      to.add_uint64(TrackField::kUuid, track);
      if (parent != 0) to.add_uint64(TrackField::kParent, parent);
      fill(to);
    });
  }

  void describe_process(pbf_builder<TrackField>& to, std::int64_t pid) {
    const auto& named = process_names_[pid];
    if (!is_number(pid)) {
      to.add_string(TrackField::kName, trace_.identity(pid));
      if (named.sort != 0) {
        to.add_int32(TrackField::kRank, static_cast<std::int32_t>(named.sort));
      }
      return;
    }
    pbf_builder<Process> process(to, TrackField::kProcess);
    process.add_int32(Process::kPid, static_cast<std::int32_t>(pid));
    if (named.sort != 0) {
      process.add_int32(Process::kSort, static_cast<std::int32_t>(named.sort));
    }
    if (!named.name.empty()) process.add_string(Process::kName, named.name);
    if (!named.labels.empty()) process.add_string(Process::kLabels, named.labels);
  }

  void describe_thread(pbf_builder<TrackField>& to, const Identity& id) {
    if (!is_number(id.first) || id.second >= trace::kTextIdentity) {
      to.add_string(TrackField::kName, trace_.identity(id.second));
      return;
    }
    const auto& named = thread_names_[id];
    pbf_builder<Thread> thread(to, TrackField::kThread);
    thread.add_int32(Thread::kPid, static_cast<std::int32_t>(id.first));
    thread.add_int64(Thread::kTid, id.second);
    if (named.sort != 0) {
      thread.add_int32(Thread::kSort, static_cast<std::int32_t>(named.sort));
    }
    if (!named.name.empty()) thread.add_string(Thread::kName, named.name);
  }

  // --- Events ------------------------------------------------------------------------

  // An event's packet comes after what it refers to is known, with which it begins.
  template <typename Fill>
  void event_packet(std::int64_t ts, Fill fill) {
    std::string bytes;
    pbf_builder<Event> event(bytes);
    fill(event);
    packet([&](auto& packet) {
      begin(packet, ts);
      packet.add_uint32(Packet::kSequenceFlags, kFlagNeedsState);
      {
        pbf_builder<Interned> interned(packet, Packet::kInterned);
        names_.write(interned, Interned::kEventNames);
        categories_.write(interned, Interned::kCategories);
        keys_.write(interned, Interned::kAnnotationNames);
      }
      packet.add_message(Packet::kTrackEvent, bytes);
    });
  }

  void event(const TrackStep& step) {
    const auto row = step.row;
    if (c_.phase[row] == 'C') return counter_values(row);
    const auto ts = step.is_end ? c_.end(row) : c_.ts[row];
    event_packet(ts, [&](auto& to) {
      to.add_uint64(Event::kTrack, step.track);
      if (step.is_end) {
        to.add_enum(Event::kType, static_cast<std::int32_t>(EventType::kEnd));
        return;
      }
      describe(to, row);
    });
  }

  void begin(pbf_builder<Packet>& packet, std::int64_t ts) {
    packet.add_uint32(Packet::kSequence, kSequenceId);
    if (ts != trace::kNoTime) {
      packet.add_uint64(Packet::kTimestamp, static_cast<std::uint64_t>(ts));
    }
  }

  void describe(pbf_builder<Event>& to, std::uint32_t row) {
    const auto phase = c_.phase[row];
    if (c_.timed(row) || phase == 'i' || phase == 'I') {
      const auto type = c_.timed(row) ? EventType::kBegin : EventType::kInstant;
      to.add_enum(Event::kType, static_cast<std::int32_t>(type));
    } else {  // also halves of slices, which would end others of their track
      pbf_builder<Legacy> legacy(to, Event::kLegacy);
      legacy.add_int32(Legacy::kPhase, phase);
      if (c_.correlation[row] != trace::kNoId) {
        legacy.add_uint64(Legacy::kId, static_cast<std::uint64_t>(c_.correlation[row]));
      }
    }
    to.add_uint64(Event::kNameId, names_.of(trace_.name(row)));
    if (c_.cat(row) != trace::Category::kUnknown) {
      to.add_uint64(Event::kCategoryId, categories_.of(c_.cat_info(row).name));
    }
    trace::for_each_member(args_[row], [&](auto key, auto value) {
      pbf_builder<Annotation> annotation(to, Event::kAnnotation);
      annotation.add_uint64(Annotation::kNameId, keys_.of(trace::unescape(key)));
      add_value(annotation, value);
    });
    const auto flows = plan_.flows.find(row);
    if (flows == plan_.flows.end()) return;
    for (const auto flow : flows->second) {
      auto id = static_cast<std::uint64_t>(c_.correlation[flow]);
      if (c_.cat(flow) == trace::Category::kFwdBwd) id |= kForwardBackward;
      to.add_fixed64(c_.phase[flow] == 'f' ? Event::kEndOfFlow : Event::kFlow, id);
    }
  }

  void counter_values(std::uint32_t row) {
    for_each_series(row, [&](const auto& series, std::string_view json) {
      const auto value = trace::as_double(json);
      if (!value) return;
      event_packet(c_.ts[row], [&](auto& to) {
        to.add_uint64(Event::kTrack, counters_[series]);
        to.add_enum(Event::kType, static_cast<std::int32_t>(EventType::kCounter));
        to.add_double(Event::kDoubleCounter, *value);
      });
    });
  }

  const Trace& trace_;
  const trace::Columns& c_;
  std::ostream& out_;
  std::string bytes_;
  std::vector<std::string> args_;
  Numbers names_, categories_, keys_;
  TrackPlan plan_;
  std::uint64_t tracks_ = 0;
  std::map<std::int64_t, std::uint64_t> processes_;
  std::map<std::int64_t, Named> process_names_;
  std::map<Identity, Named> thread_names_;
  std::set<Identity> threads_;
  std::map<std::pair<std::int64_t, std::string>, std::uint64_t> counters_;
};

}  // namespace
}  // namespace tta::write::packets

namespace tta::write {

void write_pftrace(const trace::Trace& trace, std::ostream& out) {
  const FailingStream fails(out);
  packets::PacketWriter(trace, out).run();
}

void write_pftrace(trace::Trace&& trace, const std::string& path) {
  trace::order_rows(trace);
  write_file(path, [&](std::ostream& out) {
    write_pftrace(static_cast<const trace::Trace&>(trace), out);
  });
}

}  // namespace tta::write

// SPDX-License-Identifier: BSD-3-Clause
// pipeline/quality.cpp: signs of lost records, and the facts in a trace's header.
#include "pipeline/quality.h"

#include <algorithm>
#include <set>

#include "trace/args.h"

namespace tta::pipeline {
namespace {

using trace::Category;

// A few unmatched calls are normal at the borders of the window (R14 of the fault
// catalogue: flag from 5 % on).
constexpr double kLostShare = 0.05;

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string of(std::uint64_t part, std::uint64_t whole) {
  return std::to_string(part) + " of " + std::to_string(whole);
}

// A launched kernel starts within microseconds on a free device; what waits this long
// on one that looks free waits for work that was not recorded.
constexpr std::int64_t kUnseenWork = 1'000'000;

// Time in which launched work waited on a device that ran nothing.
std::int64_t queued_behind_nothing(const timeline::Timeline& t) {
  const auto& c = t.columns();
  std::int64_t sum = 0;
  for (const auto& d : t.devices) {
    for (const auto& gap : d.gaps) {
      const auto launch = t.launch_of(gap.next);
      if (launch == timeline::kNoRow) continue;
      const auto waited = gap.time.end - std::max(gap.time.begin, c.end(launch));
      if (waited >= kUnseenWork) sum += waited;
    }
  }
  return sum;
}

// Time in which the host was blocked by a device that ran nothing, on any device.
std::int64_t waited_for_nothing(const timeline::Timeline& t) {
  std::vector<timeline::Interval> all;
  for (const auto& d : t.devices) all.insert(all.end(), d.busy.begin(), d.busy.end());
  const auto busy = timeline::unite(std::move(all));
  std::vector<timeline::Interval> idle;
  for (const auto& thread : t.waits) {
    for (const auto& wait : thread.waits) {
      const timeline::Interval time{wait.begin, wait.end};
      const auto parts = timeline::subtract({time}, timeline::clip(busy, time));
      if (timeline::total(parts) < kUnseenWork) continue;
      idle.insert(idle.end(), parts.begin(), parts.end());
    }
  }
  return timeline::total(timeline::unite(std::move(idle)));
}

// The first 200 bytes, less what would be a part of a character.
std::string_view beginning_of(std::string_view text) {
  if (text.size() <= 200) return text;
  std::size_t end = 200;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end);
}

// What Kineto wrote about its own recording: arrays of text under these keys.
void read_profiler_log(const trace::Trace& t, Quality& q) {
  for (const auto* key : {"WARNING", "ERROR"}) {
    std::uint64_t count = 0;
    std::string first;
    bool lost = false;
    trace::for_each_element(t.metadata_json(key), [&](std::string_view message) {
      if (count++ == 0) first = beginning_of(message);
      for (const auto* word : {"dropped", "lost", "out of range", "buffer is full"}) {
        lost |= message.find(word) != std::string_view::npos;
      }
    });
    if (count == 0) continue;
    if (lost) q.verdict = std::max(q.verdict, Verdict::kDegraded);
    q.notes.push_back({lost ? "profiler_lost_records" : "profiler_log", count,
                       "The profiler logged " + std::to_string(count) + " " + key +
                           " messages, the first: " + first});
  }
}

}  // namespace

TraceFacts read_facts(const timeline::Timeline& t) {
  const auto& trace = *t.trace;
  TraceFacts facts;
  facts.path = trace.path;
  facts.events = trace.columns.size();
  facts.begin_ns = t.span.begin;
  facts.end_ns = t.span.end;
  const auto properties = trace.metadata_json("deviceProperties");
  trace::for_each_element(properties, [&](std::string_view device) {
    const auto id = trace::int_arg(device, "id");
    facts.devices.push_back({static_cast<std::int32_t>(id.value_or(-1)),
                             trace::string_arg(device, "name").value_or(""), 0});
  });
  for (const auto& d : t.devices) {
    auto it = std::find_if(facts.devices.begin(), facts.devices.end(),
                           [&](const Device& known) { return known.id == d.device; });
    if (it == facts.devices.end()) {
      it = facts.devices.insert(facts.devices.end(), {d.device, "", 0});
    }
    it->work_rows = d.rows.size();
  }
  const auto distributed = trace.metadata_json("distributedInfo");
  facts.rank = trace::int_arg(distributed, "rank");
  facts.world_size = trace::int_arg(distributed, "world_size");
  return facts;
}

Quality judge(const timeline::Timeline& t, const TraceFacts& facts) {
  Quality q;
  const auto note = [&](Verdict verdict, const char* kind, std::uint64_t count,
                        std::string detail) {
    q.verdict = std::max(q.verdict, verdict);
    q.notes.push_back({kind, count, std::move(detail)});
  };
  const auto& links = t.links;
  if (t.span.length() == 0) {
    note(Verdict::kUnusable, "no_timed_events", 1,
         "No event of the trace takes time: there is nothing to analyze.");
  } else if (t.devices.empty() && links.launches > 0) {
    note(
        Verdict::kUnusable, "no_device_work", links.launches,
        "The program launched device work " + std::to_string(links.launches) +
            " times, but the trace holds no kernel, copy or memset. The device's "
            "records were lost or never taken; its time cannot be judged. Record "
            "again with ProfilerActivity.CUDA and without a second profiler attached.");
  } else if (t.devices.empty() && !facts.devices.empty()) {
    note(Verdict::kDegraded, "device_not_recorded", facts.devices.size(),
         "The trace lists " + std::to_string(facts.devices.size()) +
             (facts.devices.size() == 1 ? " GPU" : " GPUs") +
             ", but holds no GPU activity: only the CPU side is analyzed. If the "
             "program used a GPU, record with ProfilerActivity.CUDA.");
  }
  if (!t.devices.empty()) {
    const auto unlinked =
        links.device_rows - links.linked - links.queued_before - links.without_id;
    if (links.launches == 0 && links.linked == 0) {
      note(Verdict::kDegraded, "no_launches", links.device_rows,
           "No launch of any device work is in the trace (CPU activity was not "
           "recorded): idle time cannot be blamed on host code.");
    } else if (share(unlinked, links.device_rows) >= kLostShare) {
      note(Verdict::kDegraded, "work_without_launch", unlinked,
           of(unlinked, links.device_rows) +
               " device events have no launch in the trace: records were lost, and "
               "what the host did before them is unknown.");
    }
    if (share(links.launches_without_work, links.launches) >= kLostShare) {
      note(Verdict::kDegraded, "launches_without_work", links.launches_without_work,
           of(links.launches_without_work, links.launches) +
               " launches have no device event in the trace: records were lost, and "
               "idle time is overstated by the work they did.");
    }
    if (links.queued_before > 0) {
      note(Verdict::kOk, "queued_before", links.queued_before,
           std::to_string(links.queued_before) +
               " device events were launched before recording began.");
    }
    if (links.by_external_id > 0) {
      note(Verdict::kOk, "linked_by_external_id", links.by_external_id,
           of(links.by_external_id, links.device_rows) +
               " device events are linked to the host by External id: the trace has no "
               "correlation ids for them.");
    }
    if (links.without_id > 0) {
      note(Verdict::kOk, "work_without_id", links.without_id,
           of(links.without_id, links.device_rows) +
               " device events carry no id by which to find their launch: what led to "
               "them is unknown.");
    }
    const auto unseen = [&](const char* kind, std::int64_t ns, const char* who) {
      if (static_cast<double>(ns) < kLostShare * static_cast<double>(t.span.length())) {
        return;
      }
      note(Verdict::kDegraded, kind, 1,
           std::string(who) + " waited " + std::to_string(ns / 1'000'000) +
               " ms for a device that shows no work meanwhile: it was busy with work "
               "that is not in the trace (queued before recording began, or lost). "
               "That time is not known to be idle.");
    };
    unseen("wait_without_work", waited_for_nothing(t), "The host");
    unseen("queued_behind_nothing", queued_behind_nothing(t), "Launched work");
  }
  read_profiler_log(*t.trace, q);
  for (const auto& d : t.devices) {
    if (d.foreign_share < kLostShare) continue;
    note(Verdict::kDegraded, "shared_device_number", 1,
         "Several processes launched work on device " + std::to_string(d.device) +
             ": either they share it, or the file numbers devices of different "
             "processes alike, and their times are mixed up.");
  }
  for (const auto& w : t.trace->warnings) {
    const bool damage =
        w.kind == "bad_ts" || w.kind == "missing_dur" || w.kind == "negative_dur";
    const auto grave = damage && share(w.count, facts.events) >= kLostShare;
    note(grave ? Verdict::kDegraded : Verdict::kOk, w.kind.c_str(), w.count, w.detail);
  }
  return q;
}

}  // namespace tta::pipeline

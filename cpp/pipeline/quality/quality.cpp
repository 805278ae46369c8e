// SPDX-License-Identifier: BSD-3-Clause
// pipeline/quality/quality.cpp: all signs in order, from the gravest.
#include "pipeline/quality/quality.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "trace/args.h"

namespace tta::pipeline {

namespace {

constexpr double kMostHostUs = 1e9;  // Of an operator: more is invalid.

std::optional<Simulated> read_simulated(const trace::Trace& trace) {
  const auto mark = trace.metadata_json("torchtraceap");
  if (trace::raw_arg(mark, "simulated") != "true") return std::nullopt;
  const auto assumed = trace::raw_arg(mark, "dry_run");
  auto host_us = trace::as_double(trace::raw_arg(assumed, "host_us_per_op"));
  if (host_us && !(*host_us > 0 && *host_us <= kMostHostUs)) host_us.reset();
  return Simulated{trace::string_arg(assumed, "gpu").value_or(""), host_us};
}

}  // namespace

TraceFacts read_facts(const timeline::Timeline& t) {
  const auto& trace = *t.trace;
  TraceFacts facts;
  facts.path = trace.path;
  facts.events = trace.columns.size();
  facts.start_ns = t.span.begin;
  facts.end_ns = t.span.end;
  for (const auto& device : t.properties) {
    facts.devices.push_back({device.id, device.name, 0});
  }
  std::set<std::int64_t> feeders;
  for (const auto& d : t.devices) {
    if (d.pid != trace::kNoId) feeders.insert(d.pid);
    // Of the devices of several processes with one number, the first is the listed one.
    auto it = std::find_if(
        facts.devices.begin(), facts.devices.end(),
        [&](const Device& known) { return known.id == d.number && !known.events; });
    if (it == facts.devices.end()) {
      const auto* properties = t.properties_of(d.number);
      it = facts.devices.insert(facts.devices.end(),
                                {d.number, properties ? properties->name : "", 0});
    }
    it->events = d.rows.size();
  }
  facts.processes = t.host.size();
  const auto distributed = trace.metadata_json("distributedInfo");
  // A file merged from several ranks has the header of one.
  if (feeders.size() < 2) facts.rank = trace::int_arg(distributed, "rank");
  if (facts.rank && *facts.rank < 0) facts.rank.reset();  // Not a rank.
  facts.world_size = trace::int_arg(distributed, "world_size");
  facts.simulated = read_simulated(trace);
  return facts;
}

namespace {

// Collectives of libraries that exist for GPUs only, by torch's annotations.
std::uint64_t gpu_collectives(const timeline::Timeline& t) {
  std::uint64_t out = 0;
  for (const auto& lane : t.lanes.lanes) {
    if (lane.is_stream) continue;
    for (const auto row : t.lanes.rows_of(lane)) {
      out += t.named(row, timeline::Name::kDeviceBackend);
    }
  }
  return out;
}

// A process with fewer events than this share of the busiest one's is a helper.
constexpr double kManyEvents = 0.10;

// Without device work the times of all processes are added up, which a reader of the
// shares has to know.
void note_other_processes(const timeline::Timeline& t, Quality& q) {
  std::map<std::int64_t, std::uint64_t> rows;
  for (const auto& lane : t.lanes.lanes) {
    if (!lane.is_stream) rows[lane.pid] += lane.last - lane.first;
  }
  const auto busiest = rows[t.host[0].pid];
  std::uint64_t many = 0;
  for (const auto& [pid, n] : rows) {
    many += share(n, busiest) >= kManyEvents;
  }
  if (many < 2) return;
  add(q, Verdict::kOk, "several_processes", many,
      std::to_string(many) + " processes have many events. " +
          std::to_string(t.host.size()) +
          (t.host.size() == 1 ? " has a balance" : " have a balance each") +
          "; findings add up their losses, and shares refer to their total time.");
}

// Whether there is anything to judge: time, and a device's work where some was
// launched.
void find_what_there_is(const timeline::Timeline& t, const TraceFacts& facts,
                        Quality& q) {
  const bool whole = t.trace->left_out == 0;
  const auto launches = t.launch_calls.size();
  if (find_other_profiler(t, q)) return;
  if (t.span.length() == 0) {
    add(q, Verdict::kUnusable, "no_timed_events", 1,
        "No event of a known category has a duration: there is nothing to "
        "analyze. `torchtraceap inspect` counts the events.");
  } else if (t.devices.empty() && launches > 0 && whole) {
    q.incomplete = true;
    add(q, Verdict::kUnusable, "no_device_work", launches,
        "The program launched device work " + std::to_string(launches) +
            " times, but the trace holds no kernel, copy or memset. The device's "
            "records were lost or never recorded; its time cannot be judged. Record "
            "again with ProfilerActivity.CUDA and without a second profiler attached.");
  } else if (t.devices.empty() && !facts.devices.empty() && whole) {
    add(q, Verdict::kDegraded, "device_not_recorded", facts.devices.size(),
        "The trace lists " + std::to_string(facts.devices.size()) +
            (facts.devices.size() == 1 ? " GPU" : " GPUs") +
            ", but holds no GPU activity: only the CPU side is analyzed. If the "
            "program used a GPU, record with ProfilerActivity.CUDA.");
  } else if (const auto calls = t.devices.empty() && whole ? gpu_collectives(t) : 0;
             calls > 0) {
    add(q, Verdict::kDegraded, "device_not_recorded", calls,
        "The trace has " + std::to_string(calls) +
            (calls == 1 ? " collective" : " collectives") +
            " of NCCL or its like, which run on GPUs only, but no GPU activity: a GPU "
            "program recorded without its GPU. Only the CPU side is analyzed; record "
            "with ProfilerActivity.CUDA.");
  }
  if (t.host) note_other_processes(t, q);
  const auto& links = t.links;
  const auto with_id = links.device_rows - links.without_id;
  if (with_id > 0) q.linking_rate = share(links.linked, with_id);
}

}  // namespace

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string of(std::uint64_t part, std::uint64_t whole) {
  return std::to_string(part) + " of " + std::to_string(whole);
}

void add(Quality& q, Verdict verdict, const char* kind, std::uint64_t count,
         std::string detail) {
  q.verdict = std::max(q.verdict, verdict);
  q.warnings.push_back({kind, count, std::move(detail), verdict});
}

void add_loss(Quality& q, const char* kind, std::uint64_t count, std::string detail) {
  q.incomplete = true;
  add(q, Verdict::kDegraded, kind, count, std::move(detail));
}

Quality judge(const timeline::Timeline& t, const TraceFacts& facts) {
  Quality q;
  find_what_there_is(t, facts, q);
  if (t.trace->left_out == 0 && !t.devices.empty()) {
    find_lost_records(t, q);
    find_short_graphs(t, q);
    find_lost_steps(t, q);
    find_work_after_steps(t, q);
  }
  describe_links(t, q);
  find_clock_skew(t, q);
  find_overlaps(t, q);
  read_load_notes(t, q);
  return q;
}

Quality judge(const trace::Trace& trace) {
  const auto timeline = timeline::make_timeline(trace);
  return judge(timeline, read_facts(timeline));
}

}  // namespace tta::pipeline

// SPDX-License-Identifier: BSD-3-Clause
// pipeline/quality/facts.cpp: the facts in a trace's header, and the devices that
// worked.
#include "pipeline/quality/facts.h"

#include <algorithm>
#include <set>

#include "trace/args.h"

namespace tta::pipeline {
namespace {

constexpr double kMostHostUs = 1e9;  // Of an operator: what is more makes no sense.

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
  facts.world_size = trace::int_arg(distributed, "world_size");
  facts.simulated = read_simulated(trace);
  return facts;
}

}  // namespace tta::pipeline

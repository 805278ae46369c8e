// SPDX-License-Identifier: BSD-3-Clause
// pipeline/facts.cpp: the facts in a trace's header, and the devices that worked.
#include "pipeline/facts.h"

#include <algorithm>

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
  facts.begin_ns = t.span.begin;
  facts.end_ns = t.span.end;
  for (const auto& device : t.properties) {
    facts.devices.push_back({device.id, device.name, 0});
  }
  for (const auto& d : t.devices) {
    auto it = std::find_if(facts.devices.begin(), facts.devices.end(),
                           [&](const Device& known) { return known.id == d.device; });
    if (it == facts.devices.end()) {
      it = facts.devices.insert(facts.devices.end(), {d.device, "", 0});
    }
    it->work_rows = d.rows.size();
  }
  facts.processes = t.host.size();
  const auto distributed = trace.metadata_json("distributedInfo");
  facts.rank = trace::int_arg(distributed, "rank");
  facts.world_size = trace::int_arg(distributed, "world_size");
  facts.simulated = read_simulated(trace);
  return facts;
}

}  // namespace tta::pipeline

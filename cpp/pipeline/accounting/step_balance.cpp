// SPDX-License-Identifier: BSD-3-Clause
// pipeline/accounting/step_balance.cpp: sums of every kind of time up to any moment, a
// process at a time; a step is the difference of two.
#include "pipeline/accounting/step_balance.h"

#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "timeline/intervals.h"

namespace tta::pipeline {
namespace {

using patterns::PatternId;
using timeline::Interval;
using timeline::IntervalSet;

// What the devices of one process did, gathered, then summed.
struct Gathered {
  std::uint32_t devices = 0;
  std::int32_t device = -1;
  std::vector<Interval> busy, unattributed;
  std::map<PatternId, std::vector<Interval>> idle, excess;
};

using Sums = std::map<PatternId, timeline::SumUntil>;

struct ProcessTime {
  explicit ProcessTime(const Gathered& g)
      : devices(g.devices),
        device(g.devices == 1 ? g.device : -1),
        busy(g.busy),
        unattributed(g.unattributed) {
    for (const auto& [pattern, time] : g.idle)
      idle.emplace(pattern, timeline::SumUntil(time));
    for (const auto& [pattern, time] : g.excess) {
      excess.emplace(pattern, timeline::SumUntil(time));
    }
  }
  std::uint32_t devices;
  std::int32_t device;
  timeline::SumUntil busy, unattributed;
  Sums idle, excess;
};

using Processes = std::map<std::int64_t, Gathered>;

void append(std::vector<Interval>& to, const IntervalSet& from) {
  to.insert(to.end(), from.begin(), from.end());
}

void gather_devices(const timeline::Timeline& t, const patterns::Findings* found,
                    Processes& processes) {
  const auto of = step_processes(t);
  std::map<std::int32_t, Gathered*> by_device;
  for (std::size_t i = 0; i < t.devices.size(); ++i) {
    const auto at = processes.find(of[i]);
    if (at == processes.end()) continue;
    auto& g = at->second;
    ++g.devices;
    g.device = t.devices[i].number;
    by_device[t.devices[i].device] = &g;
    append(g.busy, t.devices[i].busy);
    if (found != nullptr) append(g.unattributed, found->unclaimed[i]);
  }
  if (found == nullptr) return;
  for (const auto& claim : found->claims) {
    const auto at = by_device.find(claim.device);
    if (at == by_device.end()) continue;
    auto& part = claim.idle ? at->second->idle : at->second->excess;
    part[claim.pattern].push_back({claim.begin, claim.end});
  }
}

void gather_hosts(const timeline::Timeline& t, const patterns::Findings& found,
                  Processes& processes) {
  for (std::size_t i = 0; i < t.host.size(); ++i) {
    const auto at = processes.find(t.host[i].pid);
    if (at == processes.end()) continue;
    auto& g = at->second;
    g.unattributed = timeline::subtract(found.unclaimed[i], t.host[i].busy);
    g.busy = timeline::subtract(found.unclaimed[i], g.unattributed);
  }
  for (const auto& claim : found.claims) {
    const auto at = processes.find(t.columns().pid[claim.evidence]);
    if (at == processes.end()) continue;
    at->second.idle[claim.pattern].push_back({claim.begin, claim.end});
  }
}

std::int64_t read(const Sums& sums, Interval time, std::vector<PatternTime>& out) {
  std::int64_t sum = 0;
  for (const auto& [pattern, until] : sums) {
    const auto ns = until.in(time);
    if (ns != 0) out.push_back({pattern, ns});
    sum += ns;
  }
  return sum;
}

StepBalance balance_of(const ProcessTime& p, bool on_host, const StepRow& step) {
  const Interval time{step.begin_ns, step.end_ns};
  StepBalance row;
  row.devices = p.devices;
  row.device = p.device;
  row.span_ns = time.length() * (on_host ? 1 : p.devices);
  row.busy_ns = p.busy.in(time);
  row.unattributed_ns = p.unattributed.in(time);
  const auto idle = read(p.idle, time, row.idle);
  const auto excess = read(p.excess, time, row.excess);
  const auto off = row.busy_ns + row.unattributed_ns + idle - row.span_ns;
  if (off != 0 || excess > row.busy_ns) {
    throw std::logic_error("the balance of step " + std::to_string(step.number) +
                           " is off by " + std::to_string(off) +
                           " ns; a defect of torchtraceap");
  }
  return row;
}

}  // namespace

std::vector<std::int64_t> step_processes(const timeline::Timeline& t) {
  std::set<std::int64_t> with_steps;
  for (const auto& s : t.spans.steps) with_steps.insert(t.columns().pid[s.row]);
  std::vector<std::int64_t> out;
  for (const auto& d : t.devices) {
    const bool own = with_steps.contains(d.pid);
    out.push_back(own                      ? d.pid
                  : with_steps.size() == 1 ? *with_steps.begin()
                                           : trace::kNoId);
  }
  return out;
}

std::vector<StepRow> make_steps(const timeline::Timeline& t,
                                const patterns::Findings* found) {
  Processes gathered;
  for (const auto& s : t.spans.steps) gathered[t.columns().pid[s.row]];
  gather_devices(t, found, gathered);
  if (t.host && found != nullptr) gather_hosts(t, *found, gathered);
  std::map<std::int64_t, ProcessTime> processes;
  for (const auto& [pid, g] : gathered) processes.emplace(pid, ProcessTime(g));

  std::vector<StepRow> out;
  for (const auto& step : t.spans.steps) {
    const auto time = timeline::intersect({step.begin, step.end}, t.span);
    const auto pid = t.columns().pid[step.row];
    StepRow row{step.number, pid,         time.begin, time.begin + time.length(),
                0,           std::nullopt};
    const auto& p = processes.at(pid);
    const bool on_host = t.host.of(pid) != nullptr;
    if (p.devices > 0) row.busy_ns = p.busy.in({row.begin_ns, row.end_ns});
    if (found != nullptr && (on_host || p.devices > 0)) {
      row.balance = balance_of(p, on_host, row);
    }
    out.push_back(std::move(row));
  }
  return out;
}

}  // namespace tta::pipeline

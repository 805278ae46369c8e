// SPDX-License-Identifier: BSD-3-Clause
// pipeline/balance.cpp: sums of claims, checked against the device's gaps.
#include "pipeline/balance.h"

#include <stdexcept>

namespace tta::pipeline {

using timeline::Interval;

timeline::IntervalSet unattributed(const timeline::DeviceTime& device,
                                   const std::vector<patterns::Claim>& claims) {
  std::vector<Interval> gaps, claimed;
  for (const auto& gap : device.gaps) gaps.push_back(gap.time);
  for (const auto& claim : claims) {
    if (claim.idle && claim.device == device.device) {
      claimed.push_back({claim.begin, claim.end});
    }
  }
  return timeline::subtract(timeline::unite(std::move(gaps)),
                            timeline::unite(std::move(claimed)));
}

std::vector<BalanceRow> make_balance(const timeline::Timeline& t,
                                     const std::vector<patterns::Claim>& claims) {
  const auto patterns = patterns::patterns().size();
  std::vector<BalanceRow> out;
  for (const auto& d : t.devices) {
    BalanceRow row;
    row.device = d.device;
    row.span_ns = t.span.length();
    row.busy_ns = d.busy_ns;
    row.idle_ns.assign(patterns, 0);
    row.excess_ns.assign(patterns, 0);
    for (const auto& claim : claims) {
      if (claim.device != d.device) continue;
      const auto pattern = static_cast<std::size_t>(claim.pattern);
      (claim.idle ? row.idle_ns : row.excess_ns)[pattern] += claim.end - claim.begin;
    }
    const auto rest = timeline::total(unattributed(d, claims));
    row.unattributed_ns = rest;
    auto sum = row.busy_ns + rest;
    for (const auto ns : row.idle_ns) sum += ns;
    if (sum != row.span_ns) {
      throw std::logic_error("torchtraceap: the balance of device " +
                             std::to_string(d.device) + " is off by " +
                             std::to_string(sum - row.span_ns) +
                             " ns; please report this trace");
    }
    out.push_back(std::move(row));
  }
  return out;
}

std::vector<StepRow> make_steps(const timeline::Timeline& t) {
  std::vector<StepRow> out;
  for (const auto& step : t.spans.steps) {
    const auto time = timeline::intersect({step.begin, step.end}, t.span);
    StepRow row{step.number, time.begin, time.begin + time.length(), 0};
    for (const auto& d : t.devices) {
      row.busy_ns += timeline::total(timeline::clip(d.busy, time));
    }
    out.push_back(row);
  }
  return out;
}

}  // namespace tta::pipeline

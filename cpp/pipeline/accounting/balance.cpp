// SPDX-License-Identifier: BSD-3-Clause
// pipeline/accounting/balance.cpp: sums of claims, checked against the time that there
// is.
#include "pipeline/accounting/balance.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>

#include "patterns/ledger.h"

namespace tta::pipeline {

namespace {

using patterns::Claim;
using Claims = std::span<const Claim* const>;

[[noreturn]] void fail(const std::string& what) {
  throw std::logic_error(what + "; a defect of torchtraceap");
}

// Of each device or process, in order of time.
std::vector<std::vector<const Claim*>> in_order(const timeline::Timeline& t,
                                                const std::vector<Claim>& claims) {
  std::vector<std::vector<const Claim*>> out(t.devices.size() + t.host.size());
  for (const auto& claim : claims) {
    const auto index = patterns::index_of(t, claim);
    if (index == timeline::HostTimes::kNone) {
      fail("time of device " + std::to_string(claim.device) +
           ", or of a process, which did no work, is claimed");
    }
    out[index].push_back(&claim);
  }
  for (auto& of_one : out) {
    std::stable_sort(of_one.begin(), of_one.end(), [](const Claim* a, const Claim* b) {
      return a->begin < b->begin;
    });
  }
  return out;
}

void check_excess(const timeline::DeviceTime& d, Claims claims,
                  const patterns::PatternTable& patterns) {
  auto busy = d.busy.begin();
  const Claim* before = nullptr;
  for (const auto* claim : claims) {
    if (claim->idle) continue;
    const auto refuse = [&](const char* why) {
      fail("the pattern " + std::string(patterns[claim->pattern].name) +
           " claims excess time " + why + ": [" + std::to_string(claim->begin) + ", " +
           std::to_string(claim->end) + ") ns of device " + std::to_string(d.device));
    };
    while (busy != d.busy.end() && busy->end <= claim->begin) ++busy;
    if (claim->begin >= claim->end || busy == d.busy.end() ||
        claim->begin < busy->begin || claim->end > busy->end) {
      refuse("in which the device was not busy");
    }
    if (before != nullptr && claim->begin < before->end) {
      refuse("that is claimed already");
    }
    before = claim;
  }
}

BalanceRow balance_of(const timeline::Timeline& t, const timeline::DeviceTime& d,
                      Claims claims, const timeline::IntervalSet& unclaimed,
                      const patterns::PatternTable& patterns) {
  check_excess(d, claims, patterns);
  BalanceRow row;
  row.device = d.number;
  row.key = d.device;
  row.pid = d.pid;
  row.span_ns = t.span.length();
  row.busy_ns = d.busy_ns;
  row.idle_ns.assign(patterns.size(), 0);
  row.excess_ns.assign(patterns.size(), 0);
  row.unattributed_ns = timeline::total(unclaimed);
  for (const auto* claim : claims) {
    const auto pattern = static_cast<std::size_t>(claim->pattern);
    (claim->idle ? row.idle_ns : row.excess_ns)[pattern] += claim->end - claim->begin;
  }
  const auto sum = std::accumulate(row.idle_ns.begin(), row.idle_ns.end(),
                                   row.busy_ns + row.unattributed_ns);
  if (sum != row.span_ns) {
    fail("the balance of device " + std::to_string(d.device) + " is off by " +
         std::to_string(sum - row.span_ns) + " ns");
  }
  return row;
}

// What no pattern claimed of a process's time is busy as far as it was in operators.
BalanceRow balance_of(const timeline::Timeline& t, const timeline::HostTime& process,
                      Claims claims, const timeline::IntervalSet& unclaimed,
                      const patterns::PatternTable& patterns) {
  BalanceRow row;
  row.device = row.key = -1;
  row.pid = process.pid;
  row.span_ns = t.span.length();
  row.idle_ns.assign(patterns.size(), 0);
  row.excess_ns.assign(patterns.size(), 0);
  row.unattributed_ns = timeline::total(timeline::subtract(unclaimed, process.busy));
  row.busy_ns = timeline::total(unclaimed) - row.unattributed_ns;
  for (const auto* claim : claims) {
    row.idle_ns[static_cast<std::size_t>(claim->pattern)] += claim->end - claim->begin;
  }
  const auto sum = std::accumulate(row.idle_ns.begin(), row.idle_ns.end(),
                                   row.busy_ns + row.unattributed_ns);
  if (sum != row.span_ns) {
    fail("the balance of process " + t.trace->identity(process.pid) + " is off by " +
         std::to_string(sum - row.span_ns) + " ns");
  }
  return row;
}

}  // namespace

std::vector<BalanceRow> make_balance(const timeline::Timeline& t,
                                     const patterns::Findings& found) {
  const auto claims = in_order(t, found.claims);
  std::vector<BalanceRow> out;
  for (std::size_t i = 0; i < t.devices.size(); ++i) {
    out.push_back(
        balance_of(t, t.devices[i], claims[i], found.unclaimed[i], found.patterns));
  }
  for (std::size_t i = 0; i < t.host.size(); ++i) {
    out.push_back(
        balance_of(t, t.host[i], claims[i], found.unclaimed[i], found.patterns));
  }
  return out;
}

}  // namespace tta::pipeline

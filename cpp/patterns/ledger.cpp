// SPDX-License-Identifier: BSD-3-Clause
// patterns/ledger.cpp: keeps the time that no rule has claimed yet.
#include "patterns/ledger.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

namespace tta::patterns {
namespace {

using timeline::Interval;
using timeline::IntervalSet;

// Own rules cannot be at fault: their claims are made by grant().
std::string name_of(PatternId pattern) {
  const auto number = static_cast<std::size_t>(pattern);
  return number < patterns().size() ? std::string(info(pattern).name)
                                    : "of own rule " + std::to_string(number);
}

[[noreturn]] void refuse(const Claim& claim, const std::string& why) {
  throw std::logic_error("the pattern " + name_of(claim.pattern) + " claims " + why +
                         ": [" + std::to_string(claim.begin) + ", " +
                         std::to_string(claim.end) + ") ns of device " +
                         std::to_string(claim.device) + "; a defect of torchtraceap");
}

}  // namespace

Ledger::Ledger(const timeline::Timeline& t) : timeline_(t) {
  for (const auto& d : t.devices) {
    std::vector<Interval> gaps;
    for (const auto& gap : d.gaps) gaps.push_back(gap.time);
    idle_.push_back(timeline::unite(std::move(gaps)));
    busy_.push_back(d.busy);
  }
  for (std::size_t i = 0; i < t.host.size(); ++i) {
    idle_.push_back(t.span.length() > 0 ? IntervalSet{t.span} : IntervalSet{});
    busy_.emplace_back();
  }
}

void Ledger::settle(const std::vector<Claim>& claims) {
  std::vector<const Claim*> idle, busy;
  // A device's number says nothing: work without one is kept under -1.
  const bool on_host = static_cast<bool>(timeline_.host);
  for (const auto& claim : claims) {
    (claim.idle || on_host ? idle : busy).push_back(&claim);
  }
  std::vector<IntervalSet> idle_left, busy_left;
  if (!idle.empty()) take(idle, "idle time", idle_left = idle_);
  if (!busy.empty()) take(busy, "busy time", busy_left = busy_);
  if (!idle.empty()) idle_ = std::move(idle_left);
  if (!busy.empty()) busy_ = std::move(busy_left);
}

void Ledger::take(const std::vector<const Claim*>& claims, const char* what,
                  std::vector<IntervalSet>& from) const {
  struct Taken {
    std::size_t index;
    const Claim* claim;
  };
  std::vector<Taken> order;
  for (const auto* claim : claims) {
    const auto index = index_of(timeline_, *claim);
    if (index == timeline::HostTimes::kNone) {
      refuse(*claim, what + std::string(" of a device or process without work"));
    }
    order.push_back({index, claim});
  }
  const auto before = [](const Taken& a, const Taken& b) {
    return std::tie(a.index, a.claim->begin) < std::tie(b.index, b.claim->begin);
  };
  if (!std::is_sorted(order.begin(), order.end(), before)) {
    std::stable_sort(order.begin(), order.end(), before);
  }
  for (auto it = order.begin(); it != order.end();) {
    const auto index = it->index;
    auto free = from[index].begin();
    std::vector<Interval> taken;
    for (; it != order.end() && it->index == index; ++it) {
      const auto& claim = *it->claim;
      while (free != from[index].end() && free->end <= claim.begin) ++free;
      if (claim.begin >= claim.end || free == from[index].end() ||
          claim.begin < free->begin || claim.end > free->end) {
        refuse(claim, what + std::string(" that is not left"));
      }
      if (!taken.empty() && claim.begin < taken.back().end) {
        refuse(claim, what + std::string(" that it claims already"));
      }
      taken.push_back({claim.begin, claim.end});
    }
    from[index] = timeline::subtract(from[index], timeline::unite(std::move(taken)));
  }
}

std::size_t index_of(const timeline::Timeline& t, const Claim& claim) {
  if (t.host) {
    return claim.device == -1 ? t.host.index_of(t.columns().pid[claim.evidence])
                              : timeline::HostTimes::kNone;
  }
  const auto it =
      std::lower_bound(t.devices.begin(), t.devices.end(), claim.device,
                       [](const auto& d, std::int32_t n) { return d.device < n; });
  if (it == t.devices.end() || it->device != claim.device) {
    return timeline::HostTimes::kNone;
  }
  return static_cast<std::size_t>(it - t.devices.begin());
}

}  // namespace tta::patterns

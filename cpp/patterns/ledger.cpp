// SPDX-License-Identifier: BSD-3-Clause
// patterns/ledger.cpp: keeps the idle time that no rule has claimed yet.
#include "patterns/ledger.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

#include "patterns/rule.h"

namespace tta::patterns {
namespace {

[[noreturn]] void refuse(const Claim& claim, const char* why) {
  throw std::logic_error(
      "the pattern " + std::string(info(claim.pattern).name) + " claims idle time " +
      why + ": [" + std::to_string(claim.begin) + ", " + std::to_string(claim.end) +
      ") ns of device " + std::to_string(claim.device) + "; a defect of torchtraceap");
}

}  // namespace

Ledger::Ledger(const timeline::Timeline& t) : timeline_(t) {
  for (const auto& d : t.devices) {
    std::vector<Interval> gaps;
    for (const auto& gap : d.gaps) gaps.push_back(gap.time);
    left_.push_back(timeline::unite(std::move(gaps)));
  }
}

void Ledger::settle(const std::vector<Claim>& claims) {
  std::vector<const Claim*> order;
  for (const auto& claim : claims) {
    if (claim.idle) order.push_back(&claim);
  }
  std::stable_sort(order.begin(), order.end(), [](const Claim* a, const Claim* b) {
    return std::tie(a->device, a->begin) < std::tie(b->device, b->begin);
  });
  std::vector<std::pair<std::size_t, IntervalSet>> rests;
  auto device = timeline_.devices.begin();
  for (auto it = order.begin(); it != order.end();) {
    // Both by number of the device.
    while (device != timeline_.devices.end() && device->device < (*it)->device)
      ++device;
    if (device == timeline_.devices.end() || device->device != (*it)->device) {
      refuse(**it, "of a device without work");
    }
    const auto index = static_cast<std::size_t>(device - timeline_.devices.begin());
    auto free = left_[index].begin();
    std::vector<Interval> taken;
    for (; it != order.end() && (*it)->device == device->device; ++it) {
      const auto& claim = **it;
      while (free != left_[index].end() && free->end <= claim.begin) ++free;
      if (claim.begin >= claim.end || free == left_[index].end() ||
          claim.begin < free->begin || claim.end > free->end) {
        refuse(claim, "that is not left");
      }
      if (!taken.empty() && claim.begin < taken.back().end) {
        refuse(claim, "that it claims already");
      }
      taken.push_back({claim.begin, claim.end});
    }
    rests.emplace_back(
        index, timeline::subtract(left_[index], timeline::unite(std::move(taken))));
  }
  for (auto& [index, rest] : rests) left_[index] = std::move(rest);
}

}  // namespace tta::patterns

// SPDX-License-Identifier: BSD-3-Clause
// patterns/device_work.cpp: sorts device work by its launch; finds kernels alone on a
// device, and makes claims on their time.
#include "patterns/device_work.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <unordered_map>

#include "patterns/facts.h"

namespace tta::patterns {

LaunchedWork::LaunchedWork(const timeline::Timeline& t)
    : by_lane_(t.lanes.lanes.size()) {
  const auto& c = t.columns();
  for (std::size_t i = 0; i < t.devices.size(); ++i) {
    for (const auto row : t.devices[i].rows) {
      const auto launch = t.launch_of(row);
      if (launch == kNoRow || t.lanes.lane[launch] == timeline::kNoLane) continue;
      by_lane_[t.lanes.lane[launch]].push_back(
          {c.ts[launch], row, static_cast<std::uint32_t>(i)});
    }
  }
  for (auto& works : by_lane_) {
    std::stable_sort(works.begin(), works.end(), [](const Work& a, const Work& b) {
      return a.launched < b.launched;
    });
  }
}

std::span<const Work> LaunchedWork::in(std::uint32_t lane, Interval time) const {
  const auto& works = by_lane_[lane];
  const auto before = [](const Work& w, std::int64_t at) { return w.launched < at; };
  const auto first = std::lower_bound(works.begin(), works.end(), time.begin, before);
  return {first,
          std::lower_bound(first, works.end(), std::max(time.begin, time.end), before)};
}

const LaunchedWork& launched_work(const Context& context) {
  auto& known = context.facts.launched;
  if (!known) known.emplace(context.timeline);
  return *known;
}

SoleKernels::SoleKernels(const timeline::Timeline& t) : timeline_(t), limits_(t) {}

SoleKernels& sole_kernels(const Context& context) {
  auto& known = context.facts.sole;
  if (!known) known.emplace(context.timeline);
  return *known;
}

const work::OperatorTimes& operator_times(const Context& context) {
  auto& known = context.facts.operators;
  if (!known) {
    known = std::make_shared<const work::OperatorTimes>(context.timeline, context.args);
  }
  return *known;
}

double claimable(const work::OperatorCalls* calls, double share) {
  if (calls == nullptr || calls->efficiency <= 0) return share;
  return calls->slow() ? std::min(share, calls->excess()) : 0;
}

const std::vector<SoleKernel>& SoleKernels::of(std::size_t index, Memsets memsets) {
  const auto [known, fresh] = known_.try_emplace({index, memsets});
  auto& out = known->second;
  if (!fresh) return out;
  const auto& t = timeline_;
  const auto& c = t.columns();
  const auto limits = limits_.of(index);
  std::vector<std::uint32_t> kernels;
  for (const auto row : t.devices[index].rows) {
    const auto cat = c.cat(row);
    if (cat == trace::Category::kKernel ||
        (memsets == Memsets::kCounted && cat == trace::Category::kGpuMemset)) {
      kernels.push_back(row);
    }
  }
  auto reached = t.span.begin;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const auto row = kernels[i];
    Interval time{std::max(c.ts[row], reached), std::min(c.end(row), t.span.end)};
    if (i + 1 < kernels.size()) time.end = std::min(time.end, c.ts[kernels[i + 1]]);
    reached = std::max(reached, c.end(row));
    if (time.length() == 0 || t.is_communication(row)) continue;
    out.push_back({row, time, timeline::host_lead(limits, c.end(row))});
  }
  return out;
}

void claim_excess(const Context& context, std::size_t index, const SoleKernel& kernel,
                  double share, PatternId pattern, std::uint8_t subtype,
                  std::vector<Claim>& claims, std::uint32_t evidence) {
  if (!(share > 0)) return;
  const auto left = context.ledger.busy(index, kernel.time);
  const auto taken = kernel.time.length() - timeline::total(left);
  const auto wanted =
      std::llround(std::min(1.0, share) * static_cast<double>(kernel.time.length()));
  auto excess = std::min<std::int64_t>(wanted, kernel.lead) - taken;
  for (const auto& part : left) {
    if (excess <= 0) break;
    const auto end = std::min(part.end, part.begin + excess);
    claims.push_back({pattern, subtype, false, context.timeline.devices[index].device,
                      part.begin, end, evidence == kNoRow ? kernel.row : evidence});
    excess -= end - part.begin;
  }
}

std::vector<Claim> claim_rows(const Context& context, PatternId pattern,
                              std::vector<Excess> excess) {
  std::stable_sort(excess.begin(), excess.end(), [](const Excess& a, const Excess& b) {
    return std::tie(a.device, a.row) < std::tie(b.device, b.row);
  });
  std::vector<Claim> claims;
  if (excess.empty()) return claims;
  auto& sole = sole_kernels(context);
  for (auto first = excess.begin(); first != excess.end();) {
    const auto last = std::find_if(first, excess.end(), [&](const Excess& e) {
      return e.device != first->device;
    });
    std::unordered_map<std::uint32_t, SoleKernel> kernels;
    for (const auto& k : sole.of(first->device, SoleKernels::Memsets::kCounted)) {
      kernels.emplace(k.row, k);
    }
    for (; first != last; ++first) {
      const auto kernel = kernels.find(first->row);
      if (kernel == kernels.end()) continue;
      claim_excess(context, first->device, kernel->second, first->share, pattern,
                   first->subtype, claims, first->evidence);
      kernels.erase(kernel);
    }
  }
  return claims;
}

}  // namespace tta::patterns

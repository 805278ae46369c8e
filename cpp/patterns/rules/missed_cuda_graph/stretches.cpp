// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/missed_cuda_graph/stretches.cpp: cuts steps where a capture ends, and
// sums up what is left.
#include "patterns/rules/missed_cuda_graph/stretches.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>

#include "patterns/warm_up.h"
#include "timeline/copy_direction.h"

namespace tta::patterns {
namespace {

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
  hash *= 0xff51afd7ed558ccdu;
  return hash ^ hash >> 33;
}

std::vector<Stretch> cut_steps(const std::vector<timeline::Span>& steps,
                               const IntervalSet& cuts) {
  std::vector<Stretch> out;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    auto begin = steps[i].begin;
    // Steps that overlap are no steps.
    if (!out.empty()) begin = std::max(begin, out.back().time.end);
    bool after_cut = false;
    for (const auto& cut : timeline::clip(cuts, {begin, steps[i].end})) {
      if (cut.begin > begin) out.push_back({{begin, cut.begin}, i, after_cut});
      begin = cut.end;
      after_cut = true;
    }
    if (steps[i].end > begin) out.push_back({{begin, steps[i].end}, i, after_cut});
  }
  return out;
}

void add_kernels(const Context& context, const timeline::DeviceTime& d,
                 std::vector<Stretch>& stretches) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  std::vector<std::pair<std::int64_t, std::uint32_t>> order;  // launch time, row
  for (const auto row : d.rows) {
    const auto launch = t.launch_of(row);
    if (launch == kNoRow || c.cat(row) != trace::Category::kKernel) continue;
    order.emplace_back(c.ts[launch], row);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [at, row] : order) {
    const auto* found = stretch_of(stretches, at);
    if (found == nullptr) continue;
    auto* s = &stretches[static_cast<std::size_t>(found - stretches.data())];
    const auto& args = context.args.work(row);
    s->known = s->known && args.grid_shape >= 0 && args.block_shape >= 0;
    for (const auto value : {static_cast<std::int64_t>(c.name[row]), args.grid_shape,
                             args.block_shape, c.stream[row]}) {
      s->hash = mixed(s->hash, static_cast<std::uint64_t>(value));
    }
    ++s->kernels;
  }
}

}  // namespace

CaptureEnds::CaptureEnds(const timeline::Timeline& t) : timeline_(t) {
  const auto& c = t.columns();
  std::vector<char> memory(t.trace->strings.size());
  for (std::uint32_t id = 0; id < memory.size(); ++id) {
    memory[id] = memory_call(t.trace->strings.view(id)) != MemoryCall::kNone;
  }
  for (std::uint32_t row = 0; row < c.size(); ++row) {
    const auto lane = t.lanes.lane[row];
    if (lane == timeline::kNoLane) continue;
    if (c.cat_info(row).runtime_api && memory[c.name[row]]) {
      by_lane_[lane].push_back({c.ts[row], c.end(row)});
    } else if (c.cat(row) == trace::Category::kGpuMemcpy &&
               timeline::copy_direction(t.trace->name(row)) ==
                   timeline::CopyDirection::kToHost &&
               t.launch_of(row) != kNoRow) {
      const auto launch = t.launch_of(row);
      by_lane_[t.lanes.lane[launch]].push_back({c.ts[launch], c.end(launch)});
    }
  }
  for (const auto& thread : t.waits) {
    for (const auto& wait : thread.waits) {
      by_lane_[thread.lane].push_back({wait.begin, wait.end});
    }
  }
}

IntervalSet CaptureEnds::of(const timeline::DeviceTime& d) const {
  std::set<std::uint32_t> lanes;
  for (const auto row : d.rows) {
    if (timeline_.launch_of(row) != kNoRow)
      lanes.insert(timeline_.lanes.lane[timeline_.launch_of(row)]);
  }
  std::vector<Interval> out;
  for (const auto lane : lanes) {
    const auto it = by_lane_.find(lane);
    if (it != by_lane_.end())
      out.insert(out.end(), it->second.begin(), it->second.end());
  }
  return timeline::unite(std::move(out));
}

const Stretch* stretch_of(const std::vector<Stretch>& stretches, std::int64_t at) {
  const auto after = std::upper_bound(
      stretches.begin(), stretches.end(), at,
      [](std::int64_t when, const Stretch& s) { return when < s.time.begin; });
  if (after == stretches.begin() || at >= std::prev(after)->time.end) return nullptr;
  return &*std::prev(after);
}

std::vector<Stretch> list_stretches(const Context& context,
                                    const timeline::DeviceTime& d,
                                    const std::vector<timeline::Span>& steps,
                                    const CaptureEnds& ends) {
  auto out = cut_steps(steps, ends.of(d));
  add_kernels(context, d, out);
  return out;
}

}  // namespace tta::patterns

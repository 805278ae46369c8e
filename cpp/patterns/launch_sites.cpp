// SPDX-License-Identifier: BSD-3-Clause
// patterns/launch_sites.cpp: takes away from a thread's time what has another cause.
#include "patterns/launch_sites.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <span>
#include <tuple>

#include "patterns/copies.h"
#include "patterns/marks.h"
#include "patterns/thread_time.h"
#include "patterns/warm_up.h"

namespace tta::patterns {
namespace {

// What a graph of the step would leave as it is.
constexpr std::array kApart = {
    PatternId::kProfilerArtifact, PatternId::kDataloaderBound,
    PatternId::kGcPause,          PatternId::kRecompileOrLazyLoad,
    PatternId::kAllocatorChurn,   PatternId::kCpuInitThenCopy,
    PatternId::kPageableCopy,     PatternId::kFrequentMemcpy,
    PatternId::kDataParallel,     PatternId::kSyncStall,
    PatternId::kLoopIndexing,     PatternId::kGraphBreak,
    PatternId::kUnfusedOptimizer, PatternId::kZeroGradFill,
    PatternId::kHostBoundPython,  PatternId::kGraphLaunchExposed,
    PatternId::kPiecewiseGraph,   PatternId::kAsyncSchedulingOff,
    PatternId::kDecodeHostGap};

using ByLane = std::map<std::uint32_t, std::vector<Interval>>;

// No path of torch to a launch takes so long without an event: where a loop launches
// once a pass, most gaps are pauses, and the median tells nothing of them.
constexpr std::int64_t kNotLaunching = 1'000'000;

class Launching {
 public:
  Launching(const Context& context, std::vector<std::vector<Mark>>& sites)
      : t_(context.timeline), c_(t_.columns()), sites_(sites) {
    // The rule knew only of waits and loaders; see read().
    std::erase_if(of(PatternId::kHostBoundPython),
                  [](const Mark& site) { return site.subtype == kUnrecorded; });
    t_.each_launched([&](auto, auto launch) { launches_.push_back(launch); });
    for (const auto& d : t_.devices) {
      for (const auto& copy : host_copies(context, d)) {
        const auto op = copy_operator(t_, copy.row);
        if (op != kNoRow) add(op);
      }
    }
    const auto order = [&](std::uint32_t row) {
      return std::tuple(t_.lanes.lane[row], c_.ts[row], row);
    };
    std::sort(launches_.begin(), launches_.end(),
              [&](auto a, auto b) { return order(a) < order(b); });
    launches_.erase(std::unique(launches_.begin(), launches_.end()), launches_.end());
    find_apart();
  }

  void run() {
    of(PatternId::kLaunchBound).clear();
    for (auto first = launches_.begin(); first != launches_.end();) {
      const auto lane = t_.lanes.lane[*first];
      const auto last = std::find_if(first, launches_.end(), [&](std::uint32_t row) {
        return t_.lanes.lane[row] != lane;
      });
      read(lane, {first, last});
      first = last;
    }
    of(PatternId::kMissedCudaGraph) = std::move(repeating_);
    of(PatternId::kDecodeEagerFallback) = std::move(stepping_);
  }

 private:
  std::vector<Mark>& of(PatternId pattern) {
    return sites_[static_cast<std::size_t>(pattern)];
  }
  void add(std::uint32_t row) {
    apart_[t_.lanes.lane[row]].push_back({c_.ts[row], t_.tree.end(c_, row)});
  }

  void find_apart() {
    for (const auto pattern : kApart) {
      for (const auto& site : of(pattern)) {
        const auto lane = t_.lanes.lane[host_row(t_, site)];
        if (lane != timeline::kNoLane) apart_[lane].push_back(site.time);
      }
    }
    for (const auto& thread : t_.waits) {
      for (const auto& w : thread.waits)
        apart_[thread.lane].push_back({w.begin, w.end});
    }
    for (const auto& span : t_.spans.loader) add(span.row);
    for (const auto& lane : t_.lanes.threads()) {
      for (const auto row : t_.lanes.rows_of(lane)) {
        if (is_memory_call(t_, row)) add(row);
      }
    }
    for (const auto& s : of(PatternId::kMissedCudaGraph)) graphs_.push_back(s.time);
    graphs_ = timeline::unite(std::move(graphs_));
    for (const auto& site : of(PatternId::kDecodeEagerFallback)) {
      eager_[t_.lanes.lane[site.row]].push_back(site);
    }
    for (auto& [lane, marks] : eager_) {
      std::ranges::sort(marks, {}, [](const Mark& m) { return m.time.begin; });
    }
  }

  void read(std::uint32_t lane, std::span<const std::uint32_t> launches) {
    auto apart = timeline::unite(apart_[lane]);
    const auto least = has_frames(t_, lane)
                           ? kFramePause
                           : std::min(least_pause(t_, lane), kNotLaunching);
    // Nothing else goes on inside of a graph's launch, however long it is.
    std::vector<Interval> graphs;
    for (const auto launch : launches) {
      if (t_.named(launch, Name::kGraphLaunch)) {
        graphs.push_back({c_.ts[launch], c_.end(launch)});
      }
    }
    const auto quiet =
        timeline::subtract(timeline::subtract(pauses(t_, lane, least), apart),
                           timeline::unite(std::move(graphs)));
    if (lanes_.empty()) lanes_ = working_lanes(t_);
    auto unrecorded = unrecorded_pauses(t_, lane, apart, lanes_);
    auto& python = of(PatternId::kHostBoundPython);
    python.insert(python.end(), unrecorded.begin(), unrecorded.end());
    apart.insert(apart.end(), quiet.begin(), quiet.end());
    apart = timeline::unite(std::move(apart));
    auto from = outermost(launches.front());
    for (const auto launch : launches) {
      const Interval whole{from, c_.end(launch)};
      from = std::max(from, whole.end);
      if (whole.length() == 0) continue;
      const bool repeats =
          !timeline::clip(graphs_, {c_.ts[launch], c_.ts[launch] + 1}).empty();
      const auto* step = step_at(lane, c_.ts[launch]);
      auto& list = step != nullptr ? stepping_
                   : repeats       ? repeating_
                                   : of(PatternId::kLaunchBound);
      const bool graph =
          !repeats && step == nullptr && t_.named(launch, Name::kGraphLaunch);
      const auto own =
          graph ? std::clamp(c_.ts[launch], whole.begin, whole.end) : whole.end;
      const auto add = [&](Interval time, std::uint8_t kind) {
        for (const auto& part :
             timeline::subtract({time}, timeline::clip(apart, time))) {
          list.push_back({part, launch, step == nullptr ? kind : step->subtype});
        }
      };
      add({whole.begin, own}, kKernels);
      add({own, whole.end}, kGraphs);
    }
  }

  // The engine's step without a graph that a thread is in; null if it is in none.
  const Mark* step_at(std::uint32_t lane, std::int64_t when) const {
    const auto own = eager_.find(lane);
    if (own == eager_.end()) return nullptr;
    const auto* step = timeline::last_begun(own->second, when,
                                            [](const Mark& m) { return m.time.begin; });
    return step != nullptr && when < step->time.end ? step : nullptr;
  }

  // When the first operator around a launch began.
  std::int64_t outermost(std::uint32_t launch) const {
    const auto op = t_.tree.outermost(t_.tree.parent[launch], [&](auto at) {
      return c_.cat(at) == trace::Category::kCpuOp;
    });
    return c_.ts[op == kNoRow ? launch : op];
  }

  const timeline::Timeline& t_;
  const trace::Columns& c_;
  std::vector<std::vector<Mark>>& sites_;
  std::vector<std::uint32_t> launches_, lanes_;
  ByLane apart_;
  IntervalSet graphs_;  // stretches that repeat
  std::vector<Mark> repeating_;
  // Of each thread the steps without a graph, and their launches.
  std::map<std::uint32_t, std::vector<Mark>> eager_;
  std::vector<Mark> stepping_;
};

}  // namespace

void note_launching(const Context& context, double least,
                    std::vector<std::vector<Mark>>& sites) {
  Launching(context, sites).run();
  auto& launches = sites[static_cast<std::size_t>(PatternId::kLaunchBound)];
  std::set<std::uint32_t> rows;
  std::size_t work = 0;
  for (const auto& site : launches) {
    if (rows.insert(site.row).second) work += launched_by(context, site.row);
  }
  if (static_cast<double>(work) < least) launches.clear();
}

}  // namespace tta::patterns

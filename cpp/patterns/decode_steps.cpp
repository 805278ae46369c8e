// SPDX-License-Identifier: BSD-3-Clause
// patterns/decode_steps.cpp: one cause for each stretch of the host's time.
#include "patterns/decode_steps.h"

#include <algorithm>
#include <map>
#include <memory>
#include <span>
#include <utility>

#include "patterns/facts.h"
#include "timeline/cursor.h"
#include "timeline/engine_time.h"
#include "timeline/median.h"

namespace tta::patterns {
namespace {

using timeline::EngineStep;
using timeline::EngineStepKind;
using Steps = std::span<const EngineStep>;

// Fewer pairs of steps show no habit; of that many, at least such a share must agree.
constexpr std::size_t kMinPairs = 4;
constexpr double kHabit = 0.9;
// Of the period, from which on the host's time between steps is worth overlapping.
constexpr double kMinHostShare = 0.1;
// A step of one graph, or of a graph and some preparation, is whole.
constexpr std::uint32_t kManyPieces = 4;
// Engines without graphs launch thousands of kernels a step, those with them tens.
constexpr std::uint32_t kManyLaunches = 100;
// A step one by one has that many times the launches of one with a graph.
constexpr std::uint32_t kJump = 10;
// Beyond these tokens, engines capture no graphs: the kernels are long enough.
constexpr std::int64_t kMostCaptured = 2048;
// A wait that ends so long after the device ran dry was for something else.
constexpr std::int64_t kWakeUp = 1'000'000;

// The launches of a step's work, in order of time.
std::vector<std::uint32_t> launches_of(const timeline::Timeline& t,
                                       const EngineStep& step) {
  std::vector<std::uint32_t> out;
  for (const auto row : step.work) out.push_back(t.launch_of(row));
  const auto& c = t.columns();
  std::ranges::sort(out, {}, [&](auto row) { return std::pair(c.ts[row], row); });
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

class Marker {
 public:
  Marker(const timeline::Timeline& t, DecodeSteps& out)
      : t_(t), c_(t.columns()), out_(out) {}

  // Of one process, in order of time.
  void run(Steps steps) {
    const auto captured = captured_of(steps);
    std::vector<std::vector<std::uint32_t>> launches;
    for (const auto& step : steps) launches.push_back(launches_of(t_, step));
    std::vector<Gap> gaps;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      // The first steps of a process may run before its graphs are used.
      const bool warm =
          steps.size() < timeline::kEnoughSteps || i >= timeline::kWarmUpSteps;
      if (warm && is_eager(steps[i], captured)) {
        add(captured.any ? DecodeCause::kFallback : DecodeCause::kEager,
            {c_.ts[launches[i].front()], c_.end(launches[i].back())}, steps[i].row);
      } else if (steps[i].decodes()) {
        mark_graphs(steps[i], launches[i]);
      }
      if (!timeline::has_next(steps, i)) continue;
      const auto bare = timeline::host_gap(t_, steps[i], steps[i + 1]);
      if (!steps[i].generates() || !steps[i + 1].generates()) {
        if (is_pause(t_, bare, steps[i].lane, -1)) {
          add(DecodeCause::kPause, bare, steps[i + 1].row);
        }
      } else {
        gaps.push_back({bare, c_.ts[launches[i + 1].front()] > steps[i].device.end,
                        t_.lanes.lane[t_.launch_of(steps[i + 1].forward)],
                        steps[i + 1].row, steps[i].period.length()});
      }
    }
    mark_gaps(gaps);
  }

 private:
  // What the graphs of a process are of.
  struct Captured {
    bool any = false;
    std::map<EngineStepKind, std::int64_t> largest;  // batch; -1: unknown
    std::uint32_t most_launches = 0;                 // of such a step
  };
  static Captured captured_of(Steps steps) {
    Captured out;
    for (const auto& step : steps) {
      if (step.graph_launches == 0) continue;
      out.any = true;
      out.most_launches = std::max(out.most_launches, step.launches);
      auto& largest = out.largest.try_emplace(step.scope.kind, -1).first->second;
      largest = std::max(largest, step.scope.batch);
    }
    return out;
  }

  // An engine that captures its decode steps runs those beyond its largest graph one by
  // one, with ten times the launches. One without graphs is eager in all; vLLM would
  // capture short prompts, too.
  static bool is_eager(const EngineStep& step, const Captured& captured) {
    if (step.graph_launches > 0 || step.launches < kManyLaunches) return false;
    if (captured.any) {
      const auto largest = captured.largest.find(step.scope.kind);
      return step.decodes() && largest != captured.largest.end() &&
             step.scope.batch > largest->second &&
             step.launches >= kJump * captured.most_launches;
    }
    const bool small = step.scope.tokens > 0 && step.scope.tokens <= kMostCaptured;
    return step.decodes() || (small && step.scope.engine == "vLLM");
  }

  // The host's time from when the device ran dry to the launch of the next step's
  // forward pass, with the preparation of its inputs.
  struct Gap {
    Interval bare;           // Of no length if the steps overlap.
    bool serial = false;     // Nothing of the next step was launched before.
    std::uint32_t lane = 0;  // That launches the next step,
    std::uint32_t next = 0;  // whose annotation this is.
    std::int64_t period = 0;
  };

  // Whether no step is launched before the one before it has ended, and that costs.
  bool is_serial(const std::vector<Gap>& gaps, std::int64_t usual) const {
    std::size_t pairs = 0, late = 0;
    std::int64_t bare = 0, period = 0;
    for (const auto& gap : gaps) {
      if (is_pause(t_, gap.bare, gap.lane, usual)) continue;
      ++pairs;
      late += gap.serial;
      bare += gap.bare.length();
      period += gap.period;
    }
    return pairs >= kMinPairs &&
           static_cast<double>(late) >= kHabit * static_cast<double>(pairs) &&
           static_cast<double>(bare) > kMinHostShare * static_cast<double>(period);
  }

  // Whether attention is launched between the graphs of a step: it was left out.
  bool in_pieces(const EngineStep& step) const {
    if (step.graph_launches < kManyPieces) return false;
    const auto attends = std::ranges::count_if(step.work, [&](auto row) {
      return t_.named(row, Name::kAttends) &&
             !t_.named(t_.launch_of(row), Name::kGraphLaunch);
    });
    return attends * 2 >= static_cast<std::int64_t>(step.graph_launches) - 1;
  }

  void mark_graphs(const EngineStep& step, const std::vector<std::uint32_t>& launches) {
    const bool pieces = in_pieces(step);
    auto last = kNoRow;
    for (const auto row : launches) {
      if (!t_.named(row, Name::kGraphLaunch)) continue;
      if (pieces && last != kNoRow) {
        add(DecodeCause::kPieces, {c_.end(last), c_.ts[row]}, row);
      }
      add(pieces ? DecodeCause::kPieces : DecodeCause::kGraphLaunch,
          {c_.ts[row], c_.end(row)}, row);
      last = row;
    }
  }

  void mark_gaps(const std::vector<Gap>& gaps) {
    if (gaps.empty()) return;
    std::vector<std::int64_t> lengths;
    for (const auto& gap : gaps) lengths.push_back(gap.bare.length());
    const auto usual = timeline::upper_median(std::move(lengths));
    const bool serial = is_serial(gaps, usual);
    for (const auto& gap : gaps) {
      if (is_pause(t_, gap.bare, gap.lane, usual)) {
        add(DecodeCause::kPause, gap.bare, gap.next);
      } else if (gap.bare.length() > 0) {
        mark_gap(gap, serial);
      }
    }
  }

  void mark_gap(const Gap& gap, bool serial) {
    auto bare = gap.bare;
    const auto* wait = serial ? nullptr : wait_at(gap.lane, bare.begin);
    if (wait != nullptr) {
      // Without the wait the host would have been ahead by its length, and no more.
      const auto length = bare.begin - wait->begin;
      const Interval after{bare.begin, std::min(bare.end, bare.begin + length)};
      add(DecodeCause::kSampling, after, wait->row);
      bare.begin = after.end;
    }
    const auto cause = serial ? DecodeCause::kSerial : DecodeCause::kBetween;
    // By what the thread does: each line of code is a finding of its own.
    auto reached = bare.begin;
    timeline::Cursor(t_, gap.lane).sweep(bare, [&](Interval time, std::uint32_t row) {
      add(cause, {reached, time.begin}, gap.next);
      add(cause, time, row);
      reached = time.end;
    });
    add(cause, {reached, bare.end}, gap.next);
  }

  // The wait of a thread during which the device ran dry.
  const timeline::HostWait* wait_at(std::uint32_t lane, std::int64_t dry) const {
    for (const auto& thread : t_.waits) {
      if (thread.lane != lane) continue;
      const auto* wait =
          timeline::last_begun(thread.waits, dry, &timeline::HostWait::begin);
      return wait != nullptr && wait->end >= dry && wait->end <= dry + kWakeUp
                 ? wait
                 : nullptr;
    }
    return nullptr;
  }

  void add(DecodeCause cause, Interval time, std::uint32_t row) {
    if (time.length() > 0) out_.marks.push_back({cause, {time, row}});
  }

  const timeline::Timeline& t_;
  const trace::Columns& c_;
  DecodeSteps& out_;
};

}  // namespace

const DecodeSteps& decode_steps(const Context& context) {
  auto& known = context.facts.decode;
  if (known != nullptr) return *known;
  auto out = std::make_shared<DecodeSteps>();
  // Of graphs whose replays were lost, idle time says nothing.
  if (timeline::graph_coverage(context.timeline).enough()) {
    out->steps = timeline::list_engine_steps(context.timeline, &context.args);
  }
  Marker marker(context.timeline, *out);
  for (auto begin = out->steps.begin(); begin != out->steps.end();) {
    const auto end = std::find_if(begin, out->steps.end(), [&](const EngineStep& step) {
      return step.pid != begin->pid;
    });
    marker.run({begin, end});
    begin = end;
  }
  for (const auto& step : out->steps) out->begins.push_back(step.device.begin);
  std::ranges::sort(out->begins);
  if (!out->steps.empty()) out->engine = timeline::engine_of(out->steps);
  known = std::move(out);
  return *known;
}

}  // namespace tta::patterns

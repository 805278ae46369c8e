// SPDX-License-Identifier: BSD-3-Clause
// replay/gain.h: what changes of a trace would save, by replay.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "replay/change.h"
#include "replay/critical_path.h"
#include "replay/fidelity.h"

namespace tta::replay {

/// How much of what a replay saves a fix gained, where both were measured: the least,
/// the middle and the most that a range allows for.
/// What there is no replay of is what the program does besides: where a change takes
/// half of the time, half of what the range allows for beyond it is left.
struct Trust {
  double low = 0, middle = 1, high = 1;
};

/// Time that a change takes off the span, in nanoseconds, and what it rests on. Shares
/// are -1 where they are not known: of a schedule by events.
struct Gain {
  std::int64_t low = 0, middle = 0, high = 0;
  std::int64_t replayed = 0;  ///< What the replay saves.
  /// The same where delays without a recorded cause stay that the change took away.
  std::int64_t at_least = 0;
  std::int64_t span = 0;  ///< Of the unchanged replay.
  /// Share of `replayed` that was not work taken away from the old critical path but
  /// waits that became shorter, 0 to 1: the more, the more it rests on the model.
  double recomputed = 0;
  /// Share of the new critical path that depends on inferred dependencies, 0 to 1.
  double inferred = 0;
};

/// Sets the range of a gain: `trust` of what is saved at least, in the middle between
/// the two, and at most.
void set_range(Gain& gain, const Trust& trust);

/// A schedule with a change made.
struct WhatIf {
  std::vector<std::int64_t> weights;  ///< Of the edges.
  std::vector<std::int64_t> times;    ///< Of the points.
  std::int64_t span = 0;
  std::vector<std::uint32_t> left_out;  ///< Change::left_out.
};

/// Returns by what share a step takes longer than before, where that is more than a
/// step may be off (kMostStepError).
std::optional<double> longer_by(const StepPoints& step,
                                std::span<const std::int64_t> before,
                                std::span<const std::int64_t> after);

/// Says that it does, and why it should not: what speaks against the replay.
std::string longer_text(const StepPoints& step, double by, const std::string& why);

/// Prices changes of one model; holds what they share. Refers to the model. Safe from
/// several threads.
class Pricer {
 public:
  /// One replay of the unchanged model.
  explicit Pricer(const Model& model);

  const Model& model() const { return model_; }
  const WhatIf& unchanged() const { return unchanged_; }
  /// Replays with a change. O(points + edges).
  WhatIf replay(const Change& change) const;
  /// Returns the reason to refuse a replay: a step after the first that takes over 2 %
  /// longer although a change only removes work, and not because it now waits for work
  /// that the previous step left on the device, or for its loader. The usual cause:
  /// waiting that no transfer explains was copied as work and keeps its place when its
  /// cause moves. Linear in the steps and the paths of those that are longer.
  std::optional<Refusal> longer_step(const WhatIf& changed) const;
  /// Says what a change gained, by its replay, as a range. One replay more if the trace
  /// has delays or waits that no rule explains: they stay in the low end.
  Gain gain(const WhatIf& changed, const Trust& trust) const;
  /// The weights of a change with which such delays and waits stay: behind other work
  /// that is still done, at calls by their other dependencies; nothing if none would
  /// go.
  std::optional<std::vector<std::int64_t>> guarded(const WhatIf& changed) const;

 private:
  std::int64_t on_device(const WhatIf& schedule, const StepPoints& step) const;

  const Model& model_;
  WhatIf unchanged_;
  std::vector<std::uint32_t> path_;  // edges of the critical path
};

}  // namespace tta::replay

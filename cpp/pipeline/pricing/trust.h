// SPDX-License-Identifier: BSD-3-Clause
// pipeline/pricing/trust.h: how much of what a replay saves a fix gains.
#pragma once

#include <cstdint>
#include <optional>

#include "pipeline/report.h"
#include "replay/gain.h"

namespace tta::pipeline {

/// How much of what the replay saves a fix of a finding gained where both were measured
/// (docs/measured.md, "Pairs"), by the edit that models the fix. Nothing may be gained
/// where a faster program still takes time that is not known, where a value that is
/// read may be needed, where one rank cannot tell its collectives from the wait for
/// others, and where nothing tests the replay: in traces without device work.
replay::Trust trust_of(const Report& report, const patterns::Finding& finding);

/// The trust in several gains together: the mean of each end, by what each saves. All
/// fixes together gain no less than one of them alone.
class JointTrust {
 public:
  void add(const replay::Trust& trust, const std::optional<replay::Gain>& gain,
           std::int64_t wasted_ns);
  bool any() const { return sum_ > 0; }
  replay::Trust get() const;
  /// Sets the range of what all of them gain: by this trust in the replay of all, or by
  /// their own.
  void set_range(replay::Gain& together, const replay::Trust& trust) const;
  void set_range(replay::Gain& together) const { set_range(together, get()); }

 private:
  double sum_ = 0, low_ = 0, middle_ = 0, high_ = 0;
  std::int64_t least_low_ns_ = 0, least_middle_ns_ = 0;
};

}  // namespace tta::pipeline

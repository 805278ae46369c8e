// SPDX-License-Identifier: BSD-3-Clause
// patterns/settings.h: the numbers a rule decides by, and how a user changes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "patterns/pattern.h"

namespace tta::patterns {

/// One number of a rule. Each rule file lists its own, with where it comes from.
struct Threshold {
  std::string_view name;  ///< As in a configuration, e.g. "min_share".
  double value;           ///< By default.
  std::string_view unit;  ///< "share" (0 to 1), "us", "bytes", "count", "percent".
  std::string_view why;   ///< The source: a paper, a peer, a measurement.
};

/// The thresholds of one rule as they are set, by their place in its list.
class Limits {
 public:
  explicit Limits(std::span<const double> values) : values_(values) {}
  double operator[](std::size_t i) const { return values_[i]; }
  /// A threshold in microseconds as nanoseconds.
  std::int64_t ns(std::size_t i) const {
    return static_cast<std::int64_t>(values_[i] * 1e3);
  }

 private:
  std::span<const double> values_;
};

/// All rules' thresholds, and which rules run. Starts with the defaults.
class Settings {
 public:
  Settings();

  /// Sets one threshold. Throws std::invalid_argument that lists what there is if
  /// `pattern` or `threshold` is unknown, and if `value` is negative, not finite, or
  /// beyond 1 for a share and 100 for a percent.
  void set(std::string_view pattern, std::string_view threshold, double value);

  /// Turns a rule on or off; its time is then left to the others. Throws as set().
  void enable(std::string_view pattern, bool on);

  bool enabled(PatternId pattern) const {
    return rules_[static_cast<std::size_t>(pattern)].enabled;
  }
  Limits limits(PatternId pattern) const {
    return Limits(rules_[static_cast<std::size_t>(pattern)].values);
  }

 private:
  struct Rule {
    bool enabled = true;
    std::vector<double> values;
  };
  std::vector<Rule> rules_;  // in the order of the pattern table
};

/// Finds a built-in pattern. Throws std::invalid_argument that lists them all.
PatternId pattern_named(std::string_view name);

/// The thresholds of a pattern's rule. The first is always the least share of the
/// analyzed span that the claims of the whole trace must cost ("min_share").
std::span<const Threshold> thresholds(PatternId pattern);

}  // namespace tta::patterns

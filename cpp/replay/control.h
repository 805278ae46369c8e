// SPDX-License-Identifier: BSD-3-Clause
// replay/control.h: whether a search for causes by times alone finds more than chance.
//
// On a busy device some work of another stream always ends about when a late start
// comes. So the same search is made at moments inside the delays, where nothing
// started: what it finds there, it finds by chance.
#pragma once

#include <cstdint>

namespace tta::replay {

/// What a search found for the late starts of one trace, and what at other moments.
struct Control {
  std::uint64_t delays = 0;     ///< Late starts that a cause was looked for.
  std::uint64_t found = 0;      ///< Of them, those with one.
  std::uint64_t tries = 0;      ///< Other moments of delays.
  std::uint64_t by_chance = 0;  ///< Of them, those with a cause just the same.

  double rate() const;
  double chance() const;
  /// Causes found by times may be used: three times as many as by chance, and enough
  /// that chance alone would find them in less than one trace in a hundred. By the
  /// shares found in traces: 99 % of the delays against 2 % by chance, 35 % against 1 %
  /// and 23 % against 5 % were dependencies; 94 % against 42 % may be any. Linear in
  /// `delays`.
  bool believed() const;
  /// The same, without asking how likely that is: of a rule that holds whatever a trace
  /// has of it.
  bool plausible() const;
};

/// Moments tried of one delay. Few: one delay alone, with a cause or without, shows
/// nothing.
inline constexpr std::uint64_t kTriesOfDelay = 16;

/// Returns a moment of [0, length) to try, the n-th for the delay identified by `seed`:
/// the same in each run. `length` > 0.
std::int64_t moment_of(std::uint64_t seed, std::uint64_t n, std::int64_t length);

}  // namespace tta::replay

// SPDX-License-Identifier: BSD-3-Clause
// detector/example.h: windows to learn from, and what is known of them.
#pragma once

#include <cstdint>
#include <span>

#include "detector/arrays.h"
#include "detector/tables.h"

namespace tta::detector {

/// Windows [first, last) of a trace, and what is known of them.
///
/// Of what is not known: an empty span, or -1 (NaN of `recoverable`) for one window.
struct Example {
  const Arrays* arrays = nullptr;
  std::int64_t first = 0, last = 0;
  /// For each of these windows: is there a pattern of the CPU, of the GPU; 1, 0 or -1.
  std::span<const std::int8_t> any = {};
  /// For each of them and each pattern of this version: 1, 0 or -1.
  std::span<const std::int8_t> types = {};
  std::span<const float> recoverable =
      {};                ///< The share of its time that would be saved.
  std::int8_t bad = -1;  ///< Of the whole: 1 slow, 0 good or fixed.
  /// Two examples of a step with the same number are the slow and the fixed form of one
  /// program; -1: it has no twin.
  std::int64_t pair = -1;
};

/// Throws std::invalid_argument, naming what, if labels do not fit their windows or are
/// none, or a pair is no pair.
void check(std::span<const Example> examples,
           std::size_t patterns = own_tables().patterns.size());

}  // namespace tta::detector

// SPDX-License-Identifier: BSD-3-Clause
// detector/batch.h: which tokens of which windows are read together.
//
// Windows of about the same number of tokens go into a batch, so that little of it is
// padding; batches are bounded in tokens, so that memory does not grow with a trace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "detector/arrays.h"
#include "detector/tables.h"

namespace tta::detector {

// Windows to learn from, and what is known of them.

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

/// Throws std::invalid_argument with the reason if labels do not fit their windows or
/// are missing, or a pair is invalid.
void check(std::span<const Example> examples,
           std::size_t patterns = own_tables().patterns.size());

/// A window of one of several traces.
struct WindowRef {
  std::uint32_t trace = 0;
  std::int64_t window = 0;
};

/// Returns how many tokens choose_tokens() gives. Linear in the window.
std::size_t count_tokens(const Arrays& arrays, std::int64_t window, std::size_t most);

/// Returns the tokens of a window that are read, by start: one of each run of repeated
/// events (`repeats` has their number), and at most `most`. Beyond that, waits and work
/// of the device are kept first, then events that launched or enclose kept work, then
/// the rest; within each group those that took longest or came after the longest gap:
/// labels are of lost time, and events that took no time lost none.
std::vector<std::int64_t> choose_tokens(const Arrays& arrays, std::int64_t window,
                                        std::size_t most);

/// Bounds of a batch.
struct BatchLimits {
  std::size_t tokens = 8192;  ///< Padding included; at least one window.
  /// The share of a batch that may be padding. Windows whose lengths differ more go
  /// into different ones.
  double padding = 0.125;
};

/// Returns the places of `lengths`, in groups within the limits: sorted by length,
/// equal ones in the order given. A length of 0 counts as 1.
std::vector<std::vector<std::size_t>> group_by_length(
    std::span<const std::size_t> lengths, const BatchLimits& limits);

/// The tokens of some windows, as flat arrays.
///
/// Each token is there once, also if it is read only as the end of an edge: most
/// launches lie in an earlier window, and are of no batch that this one is made with.
struct Batch {
  std::size_t windows = 0, length = 0;
  std::size_t figure_columns = 0;
  std::size_t kept = 0;  ///< This many tokens, the first ones, are those of the
                         // windows.
  // Of each token:
  std::vector<std::int32_t> pieces;  ///< features::kPieces each.
  std::vector<std::int32_t> kind, lane, lane_kind;
  std::vector<float> figures;  ///< figure_columns each; NaN: missing.
  std::vector<std::uint32_t> trace;
  std::vector<std::int64_t> token;  ///< Its place in the arrays of its trace.
  // Of each kept one:
  std::vector<std::int64_t> slot;            ///< Window x length + place in it.
  std::vector<std::int64_t> parent, launch;  ///< Places here; size() means none.

  std::size_t size() const { return kind.size(); }
};

/// Lanes from this on count as one.
inline constexpr std::int32_t kLanes = 16;

/// Makes one of these windows, in this order, with kinds and figures as the model knows
/// them. Work of the device without a parent has that of its launch, so that it is tied
/// to its call and to its operator.
Batch make_batch(std::span<const Arrays> traces, std::span<const WindowRef> windows,
                 std::size_t most, const Matching& matching = {});

}  // namespace tta::detector

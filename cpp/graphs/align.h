// SPDX-License-Identifier: BSD-3-Clause
// graphs/align.h: sequences of kernels in longer ones: exact runs, and alignments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace tta::graphs {

using Sequence = std::span<const std::uint32_t>;

/// Steps that an analysis may take to compare sequences: about a second. One step is an
/// element looked at.
class Effort {
 public:
  explicit Effort(std::int64_t steps = std::int64_t{1} << 29) : left_(steps) {}
  /// Takes steps; false if there are not enough.
  bool take(std::size_t steps) {
    left_ -= static_cast<std::int64_t>(steps);
    return left_ >= 0;
  }

 private:
  std::int64_t left_;
};

/// Visits where a pattern may begin in the text: (number of the pattern, place). Equal
/// hashes are not compared. Linear in the text for each length that differs, as far as
/// the effort lasts; false if it did not.
bool find_runs(Sequence text, const std::vector<Sequence>& patterns, Effort& effort,
               const std::function<void(std::size_t, std::size_t)>& visit);

/// Cells of an alignment at most: of graphs of up to about 5,000 nodes.
inline constexpr std::size_t kMostCells = std::size_t{1} << 25;

/// A part of a text, and how many elements it shares with a pattern in any order.
struct Window {
  std::size_t begin = 0, end = 0, shared = 0;
};
/// Returns the first stretch of 5/4 of the pattern's length that shares most. Linear.
Window best_window(Sequence text, Sequence pattern);

/// Returns for each element of the pattern its place in the text by a longest common
/// subsequence; kNoRow without one. Takes pattern x text cells, of a byte: the caller
/// keeps to kMostCells.
std::vector<std::uint32_t> align(Sequence text, Sequence pattern);

}  // namespace tta::graphs

// SPDX-License-Identifier: BSD-3-Clause
// detector/trees.h: boosted trees over the window columns, which know no torch.
//
// They add up to the same outputs as the network has: any CPU, any GPU, each pattern
// (all as logits), recoverable (as a share).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "detector/in_threads.h"
#include "detector/tables.h"

namespace tta::detector {

// name, type, how many there are, what they are
#define TTA_TREES(X)                                                                  \
  X(begin, std::int64_t, trees + 1,                                                   \
    "first node of each tree, then how many there are")                               \
  X(output, std::int64_t, trees, "which output a tree adds to")                       \
  X(column, std::int64_t, nodes, "window column that is compared; -1: a leaf")        \
  X(bound, float, nodes, "to the left if the value is at most this")                  \
  X(missing_left, std::int64_t, nodes, "1: NaN goes to the left; 0: to the right")    \
  X(left, std::int64_t, nodes, "the node there, counted in its tree; after this one") \
  X(right, std::int64_t, nodes, "the same to the right")                              \
  X(value, float, nodes, "value that a leaf adds")                                    \
  X(base, float, outputs, "initial value of each output")

/// A forest as flat arrays. `bound` means something where there is a column, `left`,
/// `right` and `missing_left` too; `value` at leaves. All empty: there is no forest.
struct Trees {
#define TTA_ARRAY(name, type, count, doc) std::vector<type> name;
  TTA_TREES(TTA_ARRAY)
#undef TTA_ARRAY
};

/// Nodes that a forest may have at most.
inline constexpr std::size_t kMostNodes = 1'000'000;

/// Throws std::invalid_argument, naming array and place, unless lengths fit, each
/// number is in its range and sensible, and each node leads to later ones of its tree,
/// so that no walk is endless.
void check(const Trees& trees, const Tables& tables = own_tables());

/// Trees that were checked, laid out to be walked.
class Forest {
 public:
  Forest() : Forest(Trees()) {}
  /// Throws as check() does.
  explicit Forest(Trees trees, const Tables& tables = own_tables());

  bool none() const { return trees_.base.empty(); }
  const Trees& trees() const { return trees_; }
  /// Whether it is of these columns and outputs.
  bool fits(const Tables& tables) const {
    return none() ||
           (columns_ == tables.window_columns() && outputs_ == tables.outputs());
  }

  /// Returns the sums of each output for each window, of rows of all window columns;
  /// NaN is a missing value. 0 if there is no forest. Finite. Time is O(trees x depth x
  /// windows); results are the same for any number of threads. Throws
  /// std::invalid_argument if the values are not whole rows.
  std::vector<float> raw(
      std::span<const float> windows, int threads = 1,
      const Checkpoint& checkpoint = [] {}) const;

 private:
  struct Node {
    float number = 0;           // the bound, or what a leaf adds
    std::int32_t column = 0;    // -1: a leaf
    std::int32_t next[3] = {};  // left, right, where NaN goes; from the first of all
  };
  void add_up(std::span<const float> windows, std::span<float> out) const;

  Trees trees_;
  std::size_t columns_ = 0, outputs_ = 0;
  std::vector<Node> nodes_;
};

}  // namespace tta::detector

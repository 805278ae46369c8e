// SPDX-License-Identifier: BSD-3-Clause
// timeline/op_tree.h: which host event encloses which, on each thread.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "timeline/lanes.h"
#include "trace/trace.h"

namespace tta::timeline {

/// How far a child may outlast its parent and still be its child. Kineto rounds starts
/// and ends apart, which shows as 1 ns to 1 us of overhang (google/perfetto#928).
inline constexpr std::int64_t kNestingTolerance = 1'000;

/// How far up a tree searches go. No real program nests deeper, and without a bound a
/// hostile file would make each search as long as the file.
inline constexpr int kMaxDepth = 2048;

/// An event and those around it, innermost first: at most kMaxDepth of them.
class Around {
 public:
  class Iterator {
   public:
    Iterator(const std::uint32_t* parent, std::uint32_t row)
        : parent_(parent), row_(row) {}
    std::uint32_t operator*() const { return row_; }
    Iterator& operator++() {
      row_ = ++depth_ < kMaxDepth ? parent_[row_] : kNoRow;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return row_ != other.row_; }

   private:
    const std::uint32_t* parent_;
    std::uint32_t row_;
    int depth_ = 0;
  };

  Around(const std::vector<std::uint32_t>& parent, std::uint32_t row)
      : parent_(parent.data()), row_(row) {}
  Iterator begin() const { return {parent_, row_}; }
  Iterator end() const { return {parent_, kNoRow}; }

 private:
  const std::uint32_t* parent_;
  std::uint32_t row_;
};

/// The enclosing host event of each row of a thread lane.
struct OpTree {
  std::vector<std::uint32_t> parent;  ///< Of each row; kNoRow for roots and the rest.
  /// Rows of Python frames that last until the profiler stops although they are known
  /// to have returned, and when at the latest.
  ///
  /// Kineto closes what is open when it stops, so the frames above the stop end
  /// together in every sound trace (8 to 35 seen). A frame among them that was followed
  /// by another frame of the same parent (`Python parent id`) had returned by then: its
  /// end is wrong (pytorch/pytorch#193440, #189794). Without these ids nothing is
  /// known.
  std::unordered_map<std::uint32_t, std::int64_t> closed_early;

  /// Rows that outlast by more than the tolerance a row of their thread that they
  /// started in, where nothing longer holds both, and the largest such overhang in
  /// nanoseconds. An annotation may begin in one Python frame and end in another: such
  /// pairs do not count.
  std::uint64_t overlapping = 0;
  std::int64_t largest_overhang = 0;

  /// Returns when a timed row ended, as far as is known.
  std::int64_t end(const trace::Columns& columns, std::uint32_t row) const {
    if (closed_early.empty()) return columns.end(row);
    const auto it = closed_early.find(row);
    return it == closed_early.end() ? columns.end(row) : it->second;
  }

  /// A row and what encloses it; nothing for kNoRow.
  Around around(std::uint32_t row) const { return {parent, row}; }
  /// What encloses a row.
  Around above(std::uint32_t row) const { return {parent, parent[row]}; }

  /// Returns the innermost event of around() that passes `test`; kNoRow if none does.
  template <typename Test>
  std::uint32_t innermost(std::uint32_t row, Test&& test) const {
    for (const auto at : around(row)) {
      if (test(at)) return at;
    }
    return kNoRow;
  }
  /// The same of the outermost.
  template <typename Test>
  std::uint32_t outermost(std::uint32_t row, Test&& test) const {
    auto out = kNoRow;
    for (const auto at : around(row)) {
      if (test(at)) out = at;
    }
    return out;
  }
  /// Returns the deepest event of category `cat` that encloses `row`, or `row` itself
  /// if it is one; kNoRow if there is none within kMaxDepth.
  std::uint32_t enclosing(const trace::Columns& columns, std::uint32_t row,
                          trace::Category cat) const {
    return innermost(row, [&](auto at) { return columns.cat(at) == cat; });
  }

  /// Marks a row and all that enclose it. Whatever is marked has its parents marked, so
  /// that many calls for one vector are linear in the rows.
  void mark_around(std::uint32_t row, std::vector<char>& marks) const {
    for (; row != kNoRow && !marks[row]; row = parent[row]) marks[row] = 1;
  }
};

/// Nests the rows of each thread by their times, frames never closed by when they ended
/// at the latest. Linear in the rows, also where they overlap without nesting.
OpTree make_op_tree(const trace::Trace& trace, const Lanes& lanes);

}  // namespace tta::timeline

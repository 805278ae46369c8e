// SPDX-License-Identifier: BSD-3-Clause
// timeline/cursor.h: what happened on one thread or stream at a time, and around it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "timeline/intervals.h"
#include "timeline/timeline.h"

namespace tta::timeline {

/// Looks up the events of one lane by time. Refers to the timeline; read-only, and as
/// cheap to make as to copy.
///
/// An event is active from its start until before its end, as far as known
/// (OpTree::end). The innermost of the events active at a moment is the one that began
/// last; on a stream, where work overlaps, that is the latest.
class Cursor {
 public:
  Cursor(const Timeline& t, std::uint32_t lane) : t_(t), rows_(t.lanes.rows_of(lane)) {}

  /// All rows of the lane, by start.
  std::span<const std::uint32_t> rows() const { return rows_; }

  /// Returns the rows that begin inside `time`, in order. O(log n).
  std::span<const std::uint32_t> in(Interval time) const {
    const auto first = begun_before(time.begin);
    return rows_.subspan(first, begun_before(std::max(time.begin, time.end)) - first);
  }

  /// Returns the row that begins last by `when`; kNoRow if all begin later. O(log n).
  std::uint32_t begun(std::int64_t when) const {
    const auto count = begun_before(when + 1);
    return count == 0 ? kNoRow : rows_[count - 1];
  }

  /// Returns the innermost event that goes on at `when`; kNoRow if none does, or if it
  /// is kMaxDepth above the last that began. O(log n + depth).
  std::uint32_t innermost(std::int64_t when) const {
    return t_.tree.innermost(begun(when), [&](auto row) { return end(row) > when; });
  }

  /// Calls `visit(Interval, row)` for each stretch of `time` in which one event of a
  /// thread was the innermost, in order of time; stretches without any are left out.
  /// Linear in the rows that begin inside, and O(log n + depth) for those before.
  template <typename Visit>
  void sweep(Interval time, Visit&& visit) const {
    auto at = time.begin;
    auto open = innermost(time.begin - 1);
    const auto advance = [&](std::int64_t to) {
      while (open != kNoRow) {
        const auto until = std::min(to, end(open));
        if (until > at) visit(Interval{at, until}, open);
        at = std::max(at, until);
        if (end(open) > to) break;
        open = t_.tree.parent[open];
      }
      at = std::max(at, to);
    };
    for (const auto row : in(time)) {
      advance(t_.columns().ts[row]);
      // Of no length, it goes on at no time and has nothing inside.
      if (end(row) > t_.columns().ts[row]) open = row;
    }
    advance(time.end);
  }

 private:
  std::int64_t end(std::uint32_t row) const { return t_.tree.end(t_.columns(), row); }
  std::size_t begun_before(std::int64_t when) const {
    const auto it = std::ranges::lower_bound(
        rows_, when, {}, [&](std::uint32_t row) { return t_.columns().ts[row]; });
    return static_cast<std::size_t>(it - rows_.begin());
  }

  const Timeline& t_;
  std::span<const std::uint32_t> rows_;
};

}  // namespace tta::timeline

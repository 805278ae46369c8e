// SPDX-License-Identifier: BSD-3-Clause
// replay/thread_points.h: puts the moments of one thread in order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "replay/draft.h"

namespace tta::replay {

/// A moment of a thread that is no call.
struct Mark {
  std::int64_t when;
  PointKind kind;
  std::uint32_t row;
  std::uint32_t id;  // of the step or hand-over
  bool waits;        // what came before it was waiting, not work
};

/// The points of a thread, and the edges between one and the next.
class Thread {
 public:
  Thread(Draft& draft, std::uint32_t lane) : d_(draft), lane_(lane) {}

  /// Puts calls and marks in order. A mark inside a call hangs on the call's begin.
  void run(std::uint32_t call, std::uint32_t last_call, std::vector<Mark> marks) {
    std::stable_sort(marks.begin(), marks.end(),
                     [](auto& a, auto& b) { return a.when < b.when; });
    auto& calls = d_.model.calls.all;
    std::size_t mark = 0;
    for (; call < last_call; ++call) {
      auto& c = calls[call];
      for (; mark < marks.size() && marks[mark].when <= c.begin; ++mark) {
        chain(marks[mark]);
      }
      c.begin_point = d_.add_point(PointKind::kCallBegin, lane_, c.row, c.begin);
      link(c.begin_point, false);
      c.end_point = d_.add_point(PointKind::kCallEnd, lane_, c.row, c.end);
      sequence_.push_back(c.end_point);  // its edges: waits.cpp, queue.cpp
      for (; mark < marks.size() && marks[mark].when < c.end; ++mark) {
        const auto p = point(marks[mark]);
        d_.add(c.begin_point, p, marks[mark].when - c.begin, EdgeKind::kThink);
      }
    }
    for (; mark < marks.size(); ++mark) chain(marks[mark]);
    d_.model.sequences[lane_] = std::move(sequence_);
  }

  std::map<std::uint32_t, PointId> out, in;   // of hand-overs, by their place
  std::map<std::uint32_t, StepPoints> steps;  // by their place

 private:
  PointId point(const Mark& m) {
    const auto p = d_.add_point(m.kind, lane_, m.row, m.when);
    if (m.kind == PointKind::kStepBegin) steps[m.id].begin = p;
    if (m.kind == PointKind::kStepEnd) steps[m.id].end = p;
    if (m.kind == PointKind::kHandOver && m.id != kNone) (m.waits ? in : out)[m.id] = p;
    return p;
  }
  void chain(const Mark& m) { link(point(m), m.waits); }
  void link(PointId p, bool waited) {
    if (!sequence_.empty()) {
      const auto before = sequence_.back();
      d_.add(before, p, waited ? 0 : d_.apart(before, p), EdgeKind::kThink);
    } else if (!waited) {
      d_.add(kOrigin, p, d_.recorded(p), EdgeKind::kAnchor);
    }
    sequence_.push_back(p);
  }

  Draft& d_;
  std::uint32_t lane_;
  std::vector<PointId> sequence_;
};

}  // namespace tta::replay

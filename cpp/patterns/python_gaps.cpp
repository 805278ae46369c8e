// SPDX-License-Identifier: BSD-3-Clause
// patterns/python_gaps.cpp: divides the time before late launches.
#include "patterns/python_gaps.h"

#include <algorithm>
#include <map>

#include "patterns/python_time.h"

namespace tta::patterns {
namespace {

constexpr std::int64_t kRecordingAFrame = 1'000;

// How many frames a thread entered in a stretch of time.
std::int64_t frames_in(const timeline::Timeline& t, std::uint32_t lane, Interval time) {
  const auto& c = t.columns();
  const auto rows = t.lanes.rows_of(t.lanes.lanes[lane]);
  const auto begin_of = [&](std::uint32_t row) { return c.ts[row]; };
  const auto first = std::ranges::lower_bound(rows, time.begin, {}, begin_of);
  const auto last = std::ranges::lower_bound(rows, time.end, {}, begin_of);
  return std::count_if(first, last, [&](std::uint32_t row) {
    return c.cat(row) == trace::Category::kPythonFunction;
  });
}

}  // namespace

std::vector<Mark> python_in_gaps(const timeline::Timeline& t,
                                 const std::vector<LateDispatch>& late) {
  std::map<std::uint32_t, std::vector<PythonStretch>> by_lane;
  std::vector<Mark> out;
  for (std::size_t i = 0; i < late.size();) {
    const auto lane = t.lanes.lane[late[i].launch];
    const auto [it, fresh] = by_lane.try_emplace(lane);
    if (fresh) it->second = python_self_time(t, lane, 0);
    const auto& stretches = it->second;
    const auto gap = i;
    std::int64_t all = 0, python = 0, recording = 0;
    std::vector<Mark> marks;
    for (; i < late.size() && late[i].launch == late[gap].launch &&
           late[i].device == late[gap].device;
         ++i) {
      const auto& time = late[i].time;
      all += time.length();
      auto s = std::ranges::upper_bound(
          stretches, time.begin, {}, [](const PythonStretch& p) { return p.time.end; });
      if (s == stretches.end() || s->time.begin >= time.end) continue;
      recording += kRecordingAFrame * frames_in(t, lane, time);
      for (; s != stretches.end() && s->time.begin < time.end; ++s) {
        // Of a function that goes on over many launches, pauses are between them.
        if (t.columns().ts[s->frame] < late[gap].time.begin) continue;
        marks.push_back({timeline::intersect(s->time, time), s->frame, 0});
        python += marks.back().time.length();
      }
    }
    python -= recording;
    if (python < kLeastPython || 2 * python <= all - recording) continue;
    out.insert(out.end(), marks.begin(), marks.end());
  }
  return out;
}

}  // namespace tta::patterns

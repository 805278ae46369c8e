// SPDX-License-Identifier: BSD-3-Clause
// patterns/thread_time.cpp: sweeps a thread's events for what lies between them.
#include "patterns/thread_time.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "timeline/cursor.h"
#include "timeline/median.h"

namespace tta::patterns {
namespace {

using timeline::Cursor;
using trace::Category;

constexpr std::int64_t kLeastPython = 60'000;
constexpr std::int64_t kRecordingAFrame = 1'000;  // about, see host_bound_python

bool is_frame(const timeline::Timeline& t, std::uint32_t row) {
  return t.columns().cat(row) == Category::kPythonFunction;
}

}  // namespace

std::vector<std::uint32_t> working_lanes(const timeline::Timeline& t) {
  std::set<std::uint32_t> lanes;
  for (const auto& process : t.host) lanes.insert(process.lane);
  t.each_launched([&](auto, auto launch) { lanes.insert(t.lanes.lane[launch]); });
  return {lanes.begin(), lanes.end()};
}

void Moments::add(std::int64_t begin, std::int64_t end) {
  for (; !open_.empty() && open_.back() <= begin; open_.pop_back()) {
    all_.push_back(open_.back());
  }
  all_.push_back(begin);
  open_.push_back(end);
}

std::vector<std::int64_t> Moments::take() {
  all_.insert(all_.end(), open_.rbegin(), open_.rend());
  if (!std::is_sorted(all_.begin(), all_.end())) std::sort(all_.begin(), all_.end());
  return std::move(all_);
}

IntervalSet pauses(const timeline::Timeline& t, std::uint32_t lane,
                   std::int64_t min_pause) {
  Moments moments;
  moments.add(t.span.begin, t.span.end);
  for (const auto row : t.lanes.rows_of(lane)) {
    if (t.is_work(row)) moments.add(t.columns().ts[row], t.columns().end(row));
  }
  const auto at = moments.take();
  IntervalSet out;
  for (std::size_t i = 1; i < at.size(); ++i) {
    if (at[i] - at[i - 1] > min_pause) out.push_back({at[i - 1], at[i]});
  }
  return out;
}

std::int64_t typical_gap(const timeline::Timeline& t, std::uint32_t lane) {
  const auto& c = t.columns();
  std::vector<std::int64_t> gaps;
  auto reached = trace::kNoTime;
  for (const auto row : t.lanes.rows_of(lane)) {
    if (!t.is_work(row)) continue;
    if (reached != trace::kNoTime && c.ts[row] > reached) {
      gaps.push_back(c.ts[row] - reached);
    }
    reached = std::max(reached, c.end(row));
  }
  return gaps.empty() ? 0 : timeline::lower_median(std::move(gaps));
}

IntervalSet calling_time(const timeline::Timeline& t, std::uint32_t lane, Interval time,
                         std::int64_t real_work, std::int64_t max_pause) {
  const auto& c = t.columns();
  std::vector<std::pair<std::int64_t, int>> marks;  // when, into (1) or out of (-1)
  for (const auto row : Cursor(t, lane).in(time)) {
    if (c.cat(row) != Category::kCpuOp || !t.named(row, Name::kOperator)) continue;
    marks.emplace_back(c.ts[row], 1);
    marks.emplace_back(c.end(row), -1);
  }
  marks.emplace_back(time.end, 0);
  std::sort(marks.begin(), marks.end());
  std::vector<Interval> spent;
  auto at = time.begin;
  int depth = 0;
  for (const auto& [when, change] : marks) {
    const Interval stretch{at, std::min(when, time.end)};
    const auto length = stretch.length();
    if (length > 0 && (depth > 0 ? length < real_work : length <= max_pause)) {
      spent.push_back(stretch);
    }
    at = std::max(at, when);
    depth += change;
  }
  return timeline::unite(std::move(spent));
}

bool has_frames(const timeline::Timeline& t, std::uint32_t lane) {
  return std::ranges::any_of(t.lanes.rows_of(lane),
                             [&](auto row) { return is_frame(t, row); });
}

std::int64_t least_pause(const timeline::Timeline& t, std::uint32_t lane) {
  return std::max(kLeastPause, kPauseFactor * typical_gap(t, lane));
}

std::vector<Mark> unrecorded_pauses(const timeline::Timeline& t, std::uint32_t lane,
                                    const IntervalSet& apart,
                                    const std::vector<std::uint32_t>& working) {
  std::vector<Mark> out;
  if (has_frames(t, lane)) return out;
  const auto& c = t.columns();
  const auto typical = typical_gap(t, lane);
  const auto quiet = pauses(t, lane, std::max(kLeastPause, kPauseFactor * typical));
  const auto rows = t.lanes.rows_of(lane);
  const auto others_work = [&](Interval time) {
    return std::ranges::any_of(working, [&](auto other) {
      return other != lane && t.lanes.lanes[other].pid == t.lanes.lanes[lane].pid &&
             t.at_work(other, time);
    });
  };
  for (auto pause : timeline::subtract(quiet, apart)) {
    const auto next = std::partition_point(
        rows.begin(), rows.end(), [&](auto row) { return c.ts[row] < pause.end; });
    if (next == rows.begin() || next == rows.end() || c.ts[*next] != pause.end ||
        pause.length() > kLongestPause || pause.begin <= c.ts[rows.front()]) {
      continue;
    }
    const auto around =
        t.tree.innermost(t.tree.parent[*next], [&](auto at) { return t.is_work(at); });
    if (around != kNoRow &&
        (t.named(around, Name::kAten) || c.cat_info(around).runtime_api)) {
      continue;
    }
    if (others_work(pause)) continue;
    pause.begin = std::min(pause.end, pause.begin + typical);
    out.push_back({pause, *next, kUnrecorded});
  }
  return out;
}

std::vector<PythonStretch> python_self_time(const timeline::Timeline& t,
                                            std::uint32_t lane,
                                            std::int64_t min_pause) {
  std::vector<PythonStretch> out;
  if (!has_frames(t, lane)) return out;
  const auto quiet = pauses(t, lane, min_pause);
  auto pause = quiet.begin();
  Cursor(t, lane).sweep(t.span, [&](Interval self, std::uint32_t row) {
    if (!is_frame(t, row)) return;
    while (pause != quiet.end() && pause->end <= self.begin) ++pause;
    if (t.named(row, Name::kWaitsForOthers)) return;
    for (auto at = pause; at != quiet.end() && at->begin < self.end; ++at) {
      out.push_back({timeline::intersect(*at, self), row});
    }
  });
  return out;
}

std::vector<Mark> python_in_gaps(const timeline::Timeline& t,
                                 const std::vector<LateDispatch>& late) {
  const auto& c = t.columns();
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
      recording += kRecordingAFrame *
                   std::ranges::count_if(Cursor(t, lane).in(time),
                                         [&](auto r) { return is_frame(t, r); });
      for (; s != stretches.end() && s->time.begin < time.end; ++s) {
        // Of a function that goes on over many launches, pauses are between them.
        if (c.ts[s->frame] < late[gap].time.begin) continue;
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

// SPDX-License-Identifier: BSD-3-Clause
// patterns/python_time.cpp: sweeps a thread's events for the innermost one.
#include "patterns/python_time.h"

#include <algorithm>
#include <array>
#include <set>

#include "timeline/median.h"

namespace tta::patterns {
namespace {

using trace::Category;

// Methods and functions of C that return when something else has happened.
constexpr std::array<std::string_view, 12> kWaiting = {
    "acquire",      "poll",    "select",  "recv",     "recv_into",
    "accept",       "waitpid", "connect", "recvfrom", "__enter__ of _thread",
    "run_backward", "wait"};

}  // namespace

IntervalSet pauses(const timeline::Timeline& t, std::uint32_t lane,
                   std::int64_t min_pause) {
  const auto& c = t.columns();
  // Begins come in order, and ends where events nest: each after those before it.
  std::vector<std::int64_t> marks = {t.span.begin}, open = {t.span.end};
  for (const auto row : t.lanes.rows_of(t.lanes.lanes[lane])) {
    if (c.cat(row) != Category::kCpuOp && !c.cat_info(row).runtime_api) continue;
    for (; !open.empty() && open.back() <= c.ts[row]; open.pop_back()) {
      marks.push_back(open.back());
    }
    marks.push_back(c.ts[row]);
    open.push_back(c.end(row));
  }
  marks.insert(marks.end(), open.rbegin(), open.rend());
  if (!std::is_sorted(marks.begin(), marks.end()))
    std::sort(marks.begin(), marks.end());
  IntervalSet out;
  for (std::size_t i = 1; i < marks.size(); ++i) {
    if (marks[i] - marks[i - 1] > min_pause) out.push_back({marks[i - 1], marks[i]});
  }
  return out;
}

std::int64_t typical_gap(const timeline::Timeline& t, std::uint32_t lane) {
  const auto& c = t.columns();
  std::vector<std::int64_t> gaps;
  auto reached = trace::kNoTime;
  for (const auto row : t.lanes.rows_of(t.lanes.lanes[lane])) {
    if (c.cat(row) != Category::kCpuOp && !c.cat_info(row).runtime_api) continue;
    if (reached != trace::kNoTime && c.ts[row] > reached) {
      gaps.push_back(c.ts[row] - reached);
    }
    reached = std::max(reached, c.end(row));
  }
  return gaps.empty() ? 0 : timeline::lower_median(std::move(gaps));
}

bool has_frames(const timeline::Timeline& t, std::uint32_t lane) {
  const auto rows = t.lanes.rows_of(t.lanes.lanes[lane]);
  return std::any_of(rows.begin(), rows.end(), [&](std::uint32_t row) {
    return t.columns().cat(row) == Category::kPythonFunction;
  });
}

bool waits_for_others(std::string_view frame) {
  constexpr std::string_view kMethod = "<built-in method ";
  constexpr std::string_view kFunction = "<built-in function ";
  if (frame.starts_with(kMethod)) {
    frame.remove_prefix(kMethod.size());
  } else if (frame.starts_with(kFunction)) {
    frame.remove_prefix(kFunction.size());
  } else {
    return false;
  }
  return std::any_of(kWaiting.begin(), kWaiting.end(), [&](std::string_view known) {
    return frame.starts_with(known) &&
           (frame.size() == known.size() || frame[known.size()] == ' ' ||
            frame[known.size()] == '>' || frame[known.size()] == '.');
  });
}

std::vector<PythonStretch> python_self_time(const timeline::Timeline& t,
                                            std::uint32_t lane,
                                            std::int64_t min_pause) {
  const auto& c = t.columns();
  const auto rows = t.lanes.rows_of(t.lanes.lanes[lane]);
  const auto is_frame = [&](std::uint32_t row) {
    return c.cat(row) == Category::kPythonFunction;
  };
  std::vector<PythonStretch> out;
  if (!has_frames(t, lane)) return out;
  const auto quiet = pauses(t, lane, min_pause);
  auto pause = quiet.begin();
  auto reached = t.span.begin;
  const auto advance = [&](std::uint32_t innermost, std::int64_t to) {
    const Interval self{reached, std::min(to, t.span.end)};
    reached = std::max(reached, to);
    if (self.length() == 0 || !is_frame(innermost)) return;
    while (pause != quiet.end() && pause->end <= self.begin) ++pause;
    if (pause == quiet.end() || pause->begin >= self.end ||
        waits_for_others(t.trace->name(innermost))) {
      return;
    }
    for (auto at = pause; at != quiet.end() && at->begin < self.end; ++at) {
      out.push_back({timeline::intersect(*at, self), innermost});
    }
  };
  std::vector<std::uint32_t> open;
  const auto close_until = [&](std::int64_t at) {
    while (!open.empty() && t.tree.end(c, open.back()) <= at) {
      advance(open.back(), t.tree.end(c, open.back()));
      open.pop_back();
    }
  };
  for (const auto row : rows) {
    close_until(c.ts[row]);
    if (!open.empty()) advance(open.back(), c.ts[row]);
    reached = std::max(reached, c.ts[row]);
    open.push_back(row);
  }
  close_until(trace::kTimeLimit);
  return out;
}

std::vector<std::uint32_t> working_lanes(const timeline::Timeline& t) {
  std::set<std::uint32_t> lanes;
  for (const auto& process : t.host) lanes.insert(process.lane);
  for (const auto& d : t.devices) {
    for (const auto row : d.rows) {
      if (t.launch_of(row) != kNoRow) lanes.insert(t.lanes.lane[t.launch_of(row)]);
    }
  }
  return {lanes.begin(), lanes.end()};
}

}  // namespace tta::patterns

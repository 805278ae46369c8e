// SPDX-License-Identifier: BSD-3-Clause
// pipeline/quality/overlaps.cpp: ends that cannot be true, on threads and on streams.
#include <algorithm>
#include <map>
#include <ranges>
#include <span>
#include <vector>

#include "patterns/rule.h"
#include "pipeline/quality/quality.h"

namespace tta::pipeline {
namespace {

using timeline::Interval;

// Work on a stream runs in order, so work that outlasts later work of its stream by
// this much has a wrong end. Overlaps by design (programmatic dependent launch,
// branches of a graph under one stream's number) are of microseconds: 42 us at most in
// the available traces, against seconds in AMD-AGI/TraceLens#669.
constexpr std::int64_t kOverrun = 10'000'000;

struct Streams {
  std::uint64_t overlapping = 0;  // work that starts before earlier work ends
  std::int64_t twice = 0;         // what the sum of durations counts twice
  std::uint64_t overruns = 0;
  std::int64_t excess = 0;  // busy time that only overruns make
};

// Adds what a stream shows, and its work with ends that can be true to `clipped`.
void measure(const timeline::Timeline& t, std::span<const std::uint32_t> rows,
             Streams& out, std::vector<Interval>& clipped) {
  const auto& c = t.columns();
  std::int64_t reached = -trace::kTimeLimit;
  for (const auto row : rows) {
    const auto both = std::min(reached, c.end(row)) - c.ts[row];
    if (both > 0) {
      ++out.overlapping;
      out.twice += both;
    }
    reached = std::max(reached, c.end(row));
  }
  // From the last: the first end of what starts later, and of what starts together.
  std::int64_t later_end = trace::kTimeLimit;
  std::int64_t group_end = later_end, group_start = later_end;
  for (const auto row : rows | std::views::reverse) {
    if (c.ts[row] != group_start) {
      later_end = std::min(later_end, group_end);
      group_start = c.ts[row];
    }
    auto end = c.end(row);
    if (later_end < end && end - later_end >= kOverrun) {
      ++out.overruns;
      end = later_end;
    }
    clipped.push_back(timeline::intersect({c.ts[row], end}, t.span));
    group_end = std::min(group_end, end);
  }
}

Streams measure_streams(const timeline::Timeline& t) {
  Streams out;
  std::map<std::int32_t, std::vector<Interval>> clipped;
  for (const auto& lane : t.lanes.lanes) {
    if (lane.is_stream) measure(t, t.lanes.rows_of(lane), out, clipped[lane.device]);
  }
  if (out.overruns == 0) return out;
  for (const auto& d : t.devices) {
    auto& work = clipped[d.device];
    std::erase_if(work, [](Interval i) { return i.length() == 0; });
    out.excess += d.busy_ns - timeline::total(timeline::unite(std::move(work)));
  }
  return out;
}

void find_unclosed_frames(const timeline::Timeline& t, Quality& q) {
  const auto count = t.tree.closed_early.size();
  if (count == 0) return;
  add(q, Verdict::kOk, "unclosed_frames", count,
      std::to_string(count) +
          " Python frames last until the profiler stopped, although later frames of "
          "the same caller began: they were never closed. They count only until then.");
}

void find_outlier_times(const timeline::Timeline& t, Quality& q) {
  const auto count = t.outliers.size();
  if (count == 0) return;
  const bool grave = share(count, t.columns().size()) >= kLostShare;
  add(q, grave ? Verdict::kDegraded : Verdict::kOk, "outlier_times", count,
      std::to_string(count) +
          " events lie an hour or more from the rest, or last ten times as long as all "
          "of it: their times are wrong. They are left out of the analysis.");
}

}  // namespace

void find_overlaps(const timeline::Timeline& t, Quality& q) {
  find_outlier_times(t, q);
  find_unclosed_frames(t, q);
  if (t.tree.overlapping > 0) {
    add(q, Verdict::kOk, "host_overlaps", t.tree.overlapping,
        std::to_string(t.tree.overlapping) +
            " events on CPU threads end after the event they began in, by up to " +
            patterns::duration_text(t.tree.largest_overhang) +
            ". They are kept, and belong to the nearest event that holds all of them.");
  }
  const auto streams = measure_streams(t);
  if (streams.overlapping > 0) {
    add(q, Verdict::kOk, "stream_overlaps", streams.overlapping,
        std::to_string(streams.overlapping) +
            " device events start before earlier ones of their stream end, as "
            "dependent launches and graphs do. Durations add up to " +
            patterns::duration_text(streams.twice) +
            " more than the time the streams were busy; busy time counts each moment "
            "once.");
  }
  if (streams.overruns > 0) {
    const auto time =
        static_cast<double>(t.span.length()) * static_cast<double>(t.devices.size());
    const bool grave = static_cast<double>(streams.excess) >= kLostShare * time;
    add(q, grave ? Verdict::kDegraded : Verdict::kOk, "work_overruns", streams.overruns,
        std::to_string(streams.overruns) +
            " device events outlast later work of their stream by 10 ms or more, which "
            "runs in order: their ends are wrong. Busy time is overstated by " +
            patterns::duration_text(streams.excess) + ".");
  }
}

}  // namespace tta::pipeline

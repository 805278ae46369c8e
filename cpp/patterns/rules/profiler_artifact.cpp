// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/profiler_artifact.cpp: idle time that recording itself caused.
//
// CUPTI's overhead records (buffer requests and flushes, instrumentation), and the
// synchronization with which the profiler ends its window: that one comes after the
// last work and has no operator and no Python frame around it, as a user's would. Where
// stacks were recorded, torch's own frames show how long starting and stopping took.
#include <algorithm>
#include <array>
#include <map>

#include "patterns/marks.h"

namespace tta::patterns {
namespace profiler_artifact {
namespace {

using trace::Category;

constexpr std::array kThresholds = {
    Threshold{"min_share", 0, "share",
              "always claimed: the user's code did not cause it"},
};

// torch's profiler going from one state to the next: start, stop, and writing the file;
// and torchtraceap's own around it. Work of a user's handler there (on_trace_ready)
// also disappears without the profiler.
std::vector<Mark> transitions(const timeline::Timeline& t) {
  const auto& c = t.columns();
  std::vector<Mark> marks;
  for (const auto& lane : t.lanes.threads()) {
    auto covered = t.span.begin;
    for (const auto row : t.lanes.rows_of(lane)) {
      if (c.cat(row) != Category::kPythonFunction ||
          !t.named(row, Name::kProfilerFile) || !t.named(row, Name::kProfilerStep)) {
        continue;
      }
      const auto end = t.tree.end(c, row);
      if (end <= covered) continue;  // within the outermost of them
      covered = end;
      marks.push_back({{c.ts[row], end}, row, 0});
    }
  }
  return marks;
}

// The thread whose launch ended a gap; kNoLane if it is not known.
std::uint32_t launcher_of(const timeline::Timeline& t, const timeline::Gap& gap) {
  const auto launch = t.launch_of(gap.next);
  return launch == kNoRow ? timeline::kNoLane : t.lanes.lane[launch];
}

std::vector<Claim> propose(const Context& context) {
  const auto& t = context.timeline;
  const auto& ledger = context.ledger;
  const auto& c = t.columns();
  std::vector<std::uint32_t> overheads, closing;
  for (const auto& lane : t.lanes.threads()) {
    for (const auto row : t.lanes.rows_of(lane)) {
      if (c.cat(row) == Category::kOverhead && t.named(row, Name::kOverhead)) {
        overheads.push_back(row);
      }
    }
  }
  std::sort(overheads.begin(), overheads.end(), [&](auto a, auto b) {
    return c.ts[a] != c.ts[b] ? c.ts[a] < c.ts[b] : a < b;
  });
  for (const auto& thread : t.waits) {
    if (t.is_closing_sync(thread.waits.back().row)) {
      closing.push_back(thread.waits.back().row);
    }
  }
  auto last_work = t.span.begin;  // of all devices: the sync waits for its own only
  for (const auto& d : t.devices) {
    if (!d.busy.empty()) last_work = std::max(last_work, d.busy.back().end);
  }
  std::vector<Interval> marks;
  for (const auto& span : t.spans.loader) marks.push_back({span.begin, span.end});
  const auto loading = timeline::unite(std::move(marks));

  std::vector<Claim> claims;
  for (const auto i : fed_devices(t)) {
    const auto& d = t.devices[i];
    auto reached = t.span.begin;
    const auto claim = [&](std::uint32_t row, Interval part) {
      part.begin = std::max(part.begin, reached);
      for (const auto& piece :
           timeline::subtract(ledger.idle(i, part), timeline::clip(loading, part))) {
        claims.push_back({PatternId::kProfilerArtifact, 0, true, d.device, piece.begin,
                          piece.end, row});
        reached = piece.end;
      }
    };
    auto gap = d.gaps.begin();
    for (const auto row : overheads) {
      while (gap != d.gaps.end() && gap->time.end <= c.ts[row]) ++gap;
      if (gap == d.gaps.end()) break;
      // CUPTI's own thread (written with pid -1) holds up any caller of CUDA; a record
      // of another program thread does not show whether the launching thread was held
      // up.
      const auto launcher = launcher_of(t, *gap);
      if (c.pid[row] >= 0 && launcher != timeline::kNoLane &&
          launcher != t.lanes.lane[row]) {
        continue;
      }
      claim(row, {c.ts[row], c.end(row)});
    }
    for (const auto row : closing)
      claim(row, {std::max(c.ts[row], last_work), c.end(row)});
  }
  // Each moment once: the records above lie partly within these frames.
  std::map<std::int32_t, std::vector<Interval>> claimed;
  for (const auto& known : claims) {
    claimed[known.device].push_back({known.begin, known.end});
  }
  std::map<std::int32_t, IntervalSet> taken;
  for (auto& [device, parts] : claimed)
    taken[device] = timeline::unite(std::move(parts));
  for (auto more : claim_marks(context, PatternId::kProfilerArtifact, transitions(t),
                               /*at_the_end=*/true)) {
    const Interval time{more.begin, more.end};
    for (const auto& part :
         timeline::subtract({time}, timeline::clip(taken[more.device], time))) {
      more.begin = part.begin;
      more.end = part.end;
      claims.push_back(more);
    }
  }
  return claims;
}

std::string describe(const Context&, const Finding& f) {
  return "The profiler's own work left the device idle for " +
         duration_text(f.wasted_ns) + ".";
}

}  // namespace
}  // namespace profiler_artifact

const Rule kProfilerArtifactRule{
    PatternId::kProfilerArtifact, profiler_artifact::kThresholds,
    profiler_artifact::propose, profiler_artifact::describe};

}  // namespace tta::patterns

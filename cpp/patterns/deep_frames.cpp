// SPDX-License-Identifier: BSD-3-Clause
// patterns/deep_frames.cpp: adds up a finding's time along the frames below its line.
#include "patterns/deep_frames.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "patterns/frame_costs.h"
#include "timeline/intervals.h"

namespace tta::patterns {
namespace {

using timeline::FileOwner;
using timeline::Frame;
using timeline::kNoRow;
using trace::Category;

// A function is named in place of its caller if four fifths of the time are in it: what
// is left is within the quarter that is not counted on of a gain
// (pipeline/pricing/price.h).
constexpr double kBulk = 0.80;

// When each Python frame inside a mark was the innermost; the mark where none was.
std::vector<PythonStretch> inside(const timeline::Timeline& t, std::uint32_t mark) {
  const auto& c = t.columns();
  std::vector<PythonStretch> out;
  auto at = c.ts[mark];
  const auto until = [&](std::int64_t end, std::uint32_t frame) {
    if (end > at) out.push_back({{at, end}, frame});
    at = std::max(at, end);
  };
  std::vector<std::uint32_t> open = {mark};
  const auto close = [&](std::int64_t time) {
    for (; open.size() > 1 && t.tree.end(c, open.back()) <= time; open.pop_back()) {
      until(t.tree.end(c, open.back()), open.back());
    }
  };
  const auto end = t.tree.end(c, mark);
  const auto rows = t.lanes.rows_of(t.lanes.lanes[t.lanes.lane[mark]]);
  auto row =
      std::lower_bound(rows.begin(), rows.end(), at,
                       [&](auto r, std::int64_t time) { return c.ts[r] < time; });
  for (; row != rows.end() && c.ts[*row] < end; ++row) {
    if (c.cat(*row) != Category::kPythonFunction) continue;
    if (t.tree.end(c, *row) > end) continue;  // around the mark
    close(c.ts[*row]);
    until(c.ts[*row], open.back());
    open.push_back(*row);
  }
  close(end);
  until(end, mark);
  return out;
}

std::vector<PythonStretch> stretches_of(const timeline::Timeline& t, const Finding& f) {
  const auto& c = t.columns();
  std::vector<PythonStretch> out;
  std::map<std::uint32_t, std::map<std::int32_t, timeline::IntervalSet>> marks;
  for (const auto& claim : f.claims) {
    const auto row = t.lanes.on_stream(claim.evidence) ? t.launch_of(claim.evidence)
                                                       : claim.evidence;
    if (row == kNoRow || t.lanes.lane[row] == timeline::kNoLane) continue;
    if (c.cat(row) == Category::kUserAnnotation) {
      marks[row][claim.device].push_back({claim.begin, claim.end});
    } else {
      out.push_back({{claim.begin, claim.end}, row});
    }
  }
  for (const auto& [mark, devices] : marks) {
    const auto frames = inside(t, mark);
    for (const auto& [device, times] : devices) {
      for (const auto& stretch : frames) {
        const auto ns = timeline::total(timeline::clip(times, stretch.time));
        if (ns > 0) out.push_back({{0, ns}, stretch.frame});
      }
    }
  }
  return out;
}

bool is_below(const timeline::Timeline& t, std::uint32_t row, const Frame& frame) {
  row = t.tree.parent[row];
  for (int depth = 0; row != kNoRow && depth < timeline::kMaxDepth; ++depth) {
    const auto own = timeline::parse_frame(t.trace->name(row));
    if (own && own->file == frame.file && own->line == frame.line &&
        own->function == frame.function) {
      return true;
    }
    row = t.tree.parent[row];
  }
  return false;
}

}  // namespace

std::optional<Frame> deepest_below(const timeline::Timeline& t, const Finding& f) {
  if (!f.location || f.location->line_of == timeline::LineOf::kCall) return {};
  const auto stretches = stretches_of(t, f);
  for (const auto owner : {FileOwner::kUser, FileOwner::kPackage}) {
    const auto most = deepest_of_most(t, stretches, f.wasted_ns, false, owner, kBulk);
    if (!most || !is_below(t, most->row, *f.location)) continue;
    return timeline::parse_frame(t.trace->name(most->row));
  }
  return {};
}

}  // namespace tta::patterns

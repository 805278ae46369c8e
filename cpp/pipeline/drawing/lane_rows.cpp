// SPDX-License-Identifier: BSD-3-Clause
// pipeline/drawing/lane_rows.cpp: one sweep over each lane for its time, one for its
// depths.
#include "pipeline/drawing/lane_rows.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "timeline/frames.h"

namespace tta::pipeline {
namespace {

using timeline::kNoRow;
using trace::Category;

// Whether a Python frame is there for what it calls or for its own sake.
enum class Frame : std::uint8_t {
  kUnknown,
  kNone,     // no frame at all
  kOwn,      // code of the user, or of a package built on torch
  kLibrary,  // torch, the standard library, builtins, and torch's marks of modules
};

class Layout {
 public:
  Layout(const timeline::Timeline& t, timeline::Interval time,
         const std::vector<char>& evidence, LaidOut& out)
      : t_(t),
        c_(t.columns()),
        time_(time),
        evidence_(evidence),
        out_(out),
        frames_(t.trace->strings.size(), Frame::kUnknown),
        depth_(c_.size()) {}

  bool meets(std::int64_t begin, std::int64_t end) const {
    return begin < time_.end && (end > time_.begin || begin >= time_.begin);
  }

  // The lane's events and the union of their time; nothing else.
  LaneRows measure(std::uint32_t lane, bool& has_evidence) const {
    LaneRows out;
    out.lane = lane;
    auto reached = std::numeric_limits<std::int64_t>::min();
    for (const auto row : t_.lanes.rows_of(t_.lanes.lanes[lane])) {
      const auto begin = c_.ts[row], end = t_.tree.end(c_, row);
      if (!meets(begin, end)) continue;
      ++out.events;
      has_evidence |= evidence_[row] != 0;
      out.busy_ns += std::max<std::int64_t>(0, end - std::max(begin, reached));
      reached = std::max(reached, end);
    }
    return out;
  }

  void lay_out(LaneRows& out, std::uint32_t most) {
    const auto& lane = t_.lanes.lanes[out.lane];
    most = std::min(most, lane.is_stream ? kStreamRows : kThreadRows);
    const auto tolerance = lane.is_stream ? 0 : timeline::kNestingTolerance;
    std::vector<std::int64_t> taken;  // until when each depth is
    out.hidden = 0;
    out.depths.clear();
    for (const auto row : t_.lanes.rows_of(lane)) {
      const auto begin = c_.ts[row], end = t_.tree.end(c_, row);
      const auto above = out_.above[row] = drawn_above(row);
      if (!meets(begin, end)) {
        depth_[row] = kHidden;
        continue;
      }
      std::uint32_t depth = above == kNoRow ? 0 : depth_[above] + 1;
      while (depth < taken.size() && taken[depth] > begin + tolerance) ++depth;
      const bool covered = above != kNoRow && end <= t_.tree.end(c_, above);
      if (covered && evidence_[row] == 0 && (depth >= most || is_inside_library(row))) {
        depth_[row] = kHidden;
        ++out.hidden;
        continue;
      }
      depth = std::min(depth, most - 1);
      if (depth >= taken.size()) {
        taken.resize(depth + 1, std::numeric_limits<std::int64_t>::min());
        out.depths.resize(depth + 1);
      }
      taken[depth] = std::max(taken[depth], end);
      depth_[row] = static_cast<std::uint8_t>(depth);
      out.depths[depth].push_back({begin, end, row});
    }
  }

 private:
  static constexpr std::uint8_t kHidden = 255;

  std::uint32_t drawn_above(std::uint32_t row) const {
    const auto parent = t_.tree.parent[row];
    if (parent == kNoRow || depth_[parent] != kHidden) return parent;
    return out_.above[parent];
  }

  // A frame of a library that was called by another one.
  bool is_inside_library(std::uint32_t row) {
    const auto parent = t_.tree.parent[row];
    if (parent == kNoRow || frame_of(row) != Frame::kLibrary ||
        frame_of(parent) != Frame::kLibrary) {
      return false;
    }
    // The structure of a model is worth the room.
    return !t_.trace->name(row).starts_with("nn.Module: ");
  }

  Frame frame_of(std::uint32_t row) {
    if (c_.cat(row) != Category::kPythonFunction) return Frame::kNone;
    auto& known = frames_[c_.name[row]];
    if (known == Frame::kUnknown) {
      const auto frame = timeline::parse_frame(t_.trace->name(row));
      const bool own =
          frame && timeline::owner_of_file(frame->file) != timeline::FileOwner::kTorch;
      known = own ? Frame::kOwn : Frame::kLibrary;
    }
    return known;
  }

  const timeline::Timeline& t_;
  const trace::Columns& c_;
  const timeline::Interval time_;
  const std::vector<char>& evidence_;
  LaidOut& out_;
  std::vector<Frame> frames_;        // by name
  std::vector<std::uint8_t> depth_;  // of each row of a thread
};

struct Ranked {
  LaneRows rows;
  bool evidence;
};

// Moves to `to` the best `room` of lanes of one kind.
void take(std::vector<Ranked>& from, std::size_t room, std::vector<LaneRows>& to) {
  const auto end = from.begin() + static_cast<std::ptrdiff_t>(room);
  std::nth_element(from.begin(), end, from.end(), [](const Ranked& a, const Ranked& b) {
    return std::tuple(!a.evidence, -a.rows.busy_ns, a.rows.lane) <
           std::tuple(!b.evidence, -b.rows.busy_ns, b.rows.lane);
  });
  for (auto it = from.begin(); it != end; ++it) to.push_back(std::move(it->rows));
}

std::uint64_t count_rows(const std::vector<LaneRows>& lanes) {
  std::uint64_t rows = 0;
  for (const auto& lane : lanes) rows += lane.depths.size();
  return rows;
}

}  // namespace

LaidOut lay_out_lanes(const timeline::Timeline& t, timeline::Interval time,
                      const std::vector<char>& evidence, std::uint64_t most_rows) {
  LaidOut out;
  out.above.assign(t.columns().size(), kNoRow);
  Layout layout(t, time, evidence, out);
  std::vector<Ranked> threads, streams;
  for (std::uint32_t lane = 0; lane < t.lanes.lanes.size(); ++lane) {
    bool has_evidence = false;
    auto rows = layout.measure(lane, has_evidence);
    if (rows.events == 0) continue;
    auto& kind = t.lanes.lanes[lane].is_stream ? streams : threads;
    kind.push_back({std::move(rows), has_evidence});
  }
  const auto room =
      static_cast<std::size_t>(std::clamp<std::uint64_t>(most_rows, 1, kMostLanes));
  const auto half = room - std::min(room / 2, threads.size());
  const auto of_streams = std::min(streams.size(), half);
  const auto of_threads = std::min(threads.size(), room - of_streams);
  out.left_out = streams.size() - of_streams + threads.size() - of_threads;
  take(threads, of_threads, out.lanes);
  take(streams, of_streams, out.lanes);
  std::sort(out.lanes.begin(), out.lanes.end(),
            [](const LaneRows& a, const LaneRows& b) { return a.lane < b.lane; });

  for (auto most = kThreadRows;; most /= 2) {
    for (auto& lane : out.lanes) layout.lay_out(lane, most);
    if (most == 1 || count_rows(out.lanes) <= most_rows) break;
  }
  return out;
}

}  // namespace tta::pipeline

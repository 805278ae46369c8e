// SPDX-License-Identifier: BSD-3-Clause
// pipeline/drawing/lane_view.h: threads and streams as at most the number of slices
// that a page can draw.
//
// A trace has millions of events and a page room for some ten thousand. So each event
// is drawn by itself where that is worth it, and the rest merged:
// - A quarter of the limit bounds the rows (depths of all lanes, lane_rows.h).
// - What the report points to, what surrounds it, and the longest events of threads and
//   of streams are slices of their own; see lane_focus.h for how much room each gets.
// - Time is divided into cells of one length. Events at least that long are slices of
//   their own; of the others, those of one lane and depth that start in one cell become
//   one slice, except across a slice of its own. A lone one stays itself.
// - The cells are as short as the limit allows. Every event is in exactly one slice or
// counted as hidden. A merged slice has the number of its events and their busy time,
// so that dense and sparse blocks differ.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/report.h"

namespace tta::pipeline {

struct LaneSlice {
  std::int64_t begin = 0;  ///< From the first start to the last end of its events.
  std::int64_t end = 0;
  std::optional<std::uint32_t> row;  ///< None: several are merged.
  trace::Category category{};        ///< Of several, the one with most of the time.
  std::uint64_t count = 0;
  std::int64_t busy_ns = 0;  ///< Union of their time.
  std::uint32_t depth = 0;   ///< 0 is the outermost.
};

struct LaneView {
  std::uint32_t lane = 0;  ///< In Lanes::lanes.
  std::string name;        ///< "thread 1234 (python)", or as the trace has it.
  std::uint64_t events = 0;
  std::uint64_t hidden = 0;       ///< Of these, those in no slice; see LaneRows.
  std::int64_t busy_ns = 0;       ///< Union of all events' time.
  std::vector<LaneSlice> slices;  ///< By depth, then start.
};

struct LaneViews {
  std::vector<LaneView> lanes;  ///< Threads, then streams, each by first event.
  std::uint64_t left_out = 0;   ///< Lanes with events that are not here.
  std::int64_t cell_ns = 0;     ///< Length of a cell; 0 if nothing is merged.
};

struct LaneOptions {
  std::uint64_t limit = 20'000;  ///< Slices in all; at least 1.
  /// Events that meet this are taken, whole; none: all.
  std::optional<timeline::Interval> time;
};

/// Draws the lanes of a report's trace. O(n log n). Throws std::invalid_argument if the
/// limit is 0 or the time is empty, and what EventArgs throws for an unusable trace.
LaneViews view_lanes(const Report& report, const LaneOptions& options = {});

}  // namespace tta::pipeline

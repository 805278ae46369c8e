// SPDX-License-Identifier: BSD-3-Clause
// pipeline/drawing/lane_view.cpp: finds the finest cells that keep to the limit.
#include "pipeline/drawing/lane_view.h"

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>

#include "pipeline/drawing/lane_focus.h"
#include "pipeline/drawing/lane_rows.h"

namespace tta::pipeline {
namespace {

using timeline::Interval;

constexpr Interval kAlways{-trace::kTimeLimit, 2 * trace::kTimeLimit};

class Cells {
 public:
  Cells(const LaidOut& laid, const std::vector<char>& focus, std::int64_t origin)
      : laid_(laid), focus_(focus), origin_(origin) {}

  // Calls visit(first, last) for each slice of one depth, as a range of its events.
  template <typename Visit>
  void slices(const std::vector<DrawnEvent>& events, std::int64_t cell,
              Visit visit) const {
    auto first = events.begin();
    for (auto it = first; it != events.end(); ++it) {
      const bool alone = is_alone(*it, cell);
      if (it != first && (alone || is_alone(*first, cell) ||
                          cell_of(*it, cell) != cell_of(*first, cell))) {
        visit(first, it);
        first = it;
      }
    }
    if (first != events.end()) visit(first, events.end());
  }

  std::uint64_t count(std::int64_t cell) const {
    std::uint64_t count = 0;
    for (const auto& lane : laid_.lanes) {
      for (const auto& depth : lane.depths) {
        slices(depth, cell, [&](auto, auto) { ++count; });
      }
    }
    return count;
  }

 private:
  bool is_alone(const DrawnEvent& e, std::int64_t cell) const {
    return e.end - e.begin >= cell || focus_[e.row];
  }
  // Those that began before the stretch count into its first cell.
  std::int64_t cell_of(const DrawnEvent& e, std::int64_t cell) const {
    return (std::max(e.begin, origin_) - origin_) / cell;
  }

  const LaidOut& laid_;
  const std::vector<char>& focus_;
  std::int64_t origin_;
};

// The number of slices never grows with powers of two, for each cell then is a whole
// number of the shorter ones; in between it nearly never does.
std::int64_t finest(const Cells& cells, std::uint64_t limit) {
  int few = 62, many = 0;  // exponents; all in one cell surely keeps to the limit
  while (few - many > 1) {
    const int middle = (few + many) / 2;
    (cells.count(std::int64_t{1} << middle) <= limit ? few : many) = middle;
  }
  auto best = std::int64_t{1} << few;
  auto below = std::int64_t{1} << many;
  for (int step = 0; step < 4 && best - below > 1; ++step) {
    const auto middle = below + (best - below) / 2;
    (cells.count(middle) <= limit ? best : below) = middle;
  }
  return best;
}

using Events = std::vector<DrawnEvent>::const_iterator;

LaneSlice merge(const trace::Columns& c, Events first, Events last,
                std::uint32_t depth) {
  LaneSlice out;
  out.begin = first->begin;
  out.end = std::numeric_limits<std::int64_t>::min();
  out.count = static_cast<std::uint64_t>(last - first);
  out.depth = depth;
  if (out.count == 1) out.row = first->row;
  // An event of no length counts as well. A million events, each years long, exceed
  // int64.
  std::array<double, trace::kCategories.size()> times{};
  for (auto it = first; it != last; ++it) {
    times[c.category[it->row]] += static_cast<double>(it->end - it->begin + 1);
    out.busy_ns += std::max<std::int64_t>(0, it->end - std::max(it->begin, out.end));
    out.end = std::max(out.end, it->end);
  }
  const auto most = std::max_element(times.begin(), times.end());
  out.category = static_cast<trace::Category>(most - times.begin());
  return out;
}

std::string name_of(const timeline::Timeline& t, const timeline::Lane& lane,
                    const timeline::EventArgs& args) {
  auto own = std::string(args.thread_name(lane.pid, lane.tid));
  own.erase(own.find_last_not_of(' ') + 1);
  if (lane.is_stream) {
    return own.empty() ? "stream " + t.trace->identity(lane.stream) : own;
  }
  const auto number = "thread " + t.trace->identity(lane.tid);
  return own.empty() || own == number ? number : number + " (" + own + ")";
}

std::int64_t first_begin(const LaidOut& laid) {
  auto first = trace::kTimeLimit;
  for (const auto& lane : laid.lanes) {
    for (const auto& depth : lane.depths) {
      if (!depth.empty()) first = std::min(first, depth.front().begin);
    }
  }
  return first;
}

}  // namespace

LaneViews view_lanes(const Report& report, const LaneOptions& options) {
  if (options.limit == 0) throw std::invalid_argument("limit must be at least 1");
  if (options.time && options.time->length() == 0) {
    throw std::invalid_argument("the stretch of time to draw is empty");
  }
  const auto& t = *report.timeline;
  const auto& c = t.columns();
  const auto pointers = pointers_of(report);
  std::vector<char> evidence(c.size());
  for (const auto& p : pointers) evidence[p.row] = 1;
  const auto time = options.time.value_or(kAlways);
  const auto laid = lay_out_lanes(t, time, evidence, options.limit / 4);

  std::uint64_t rows = 0, drawn = 0;
  for (const auto& lane : laid.lanes) {
    rows += lane.depths.size();
    drawn += lane.events - lane.hidden;
  }
  LaneViews out;
  out.left_out = laid.left_out;
  std::vector<char> focus(c.size());
  if (drawn > options.limit) {
    // Each may cut a merged slice in two: with these and the rows, two thirds of the
    // limit are taken at worst.
    focus = choose_focus(t, laid, pointers, (options.limit - rows) * 3 / 10);
  }
  const Cells cells(laid, focus, options.time ? time.begin : first_begin(laid));
  if (drawn > options.limit) out.cell_ns = finest(cells, options.limit);

  std::optional<timeline::EventArgs> read;
  if (!report.args) read.emplace(t);
  const auto& args = report.args ? *report.args : *read;
  for (const auto& lane : laid.lanes) {
    out.lanes.push_back({lane.lane,
                         name_of(t, t.lanes.lanes[lane.lane], args),
                         lane.events,
                         lane.hidden,
                         lane.busy_ns,
                         {}});
    auto& slices = out.lanes.back().slices;
    for (std::uint32_t depth = 0; depth < lane.depths.size(); ++depth) {
      // Cells of no length: each event, even one of no length, is a slice of its own.
      cells.slices(lane.depths[depth], out.cell_ns, [&](Events first, Events last) {
        slices.push_back(merge(c, first, last, depth));
      });
    }
  }
  return out;
}

}  // namespace tta::pipeline

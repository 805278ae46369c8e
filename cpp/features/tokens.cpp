// SPDX-License-Identifier: BSD-3-Clause
// features/tokens.cpp: each column of a row, then what ties rows to one another.
#include "features/tokens.h"

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>
#include <utility>

namespace tta::features {
namespace {

using timeline::kNoRow;

enum LaneKind : std::uint8_t { kMainThread, kThread, kMainStream, kStream };

float costs(const Usual& usual, std::int64_t length) {
  return usual.launch_cost > 0 ? usual.costs(length) : -1.0f;
}

// Elements of the largest input; -1 if none is known.
std::int64_t elements_of(const timeline::OpArgs* op) {
  std::int64_t most = -1;
  if (op == nullptr) return most;
  for (const auto& sizes : op->dims) {
    if (sizes.empty()) continue;
    std::int64_t product = 1;
    for (const auto size : sizes) {
      const bool fits =
          size >= 0 &&
          (size == 0 || product <= std::numeric_limits<std::int64_t>::max() / size);
      product = fits ? product * size : -1;
      if (product < 0) break;
    }
    most = std::max(most, product);
  }
  return most;
}

}  // namespace

TokenWriter::TokenWriter(const Whole& whole)
    : w_(whole), place_(whole.t.columns().size(), -1) {}

void TokenWriter::write(const timeline::Window& window,
                        std::span<const std::uint32_t> rows, Tokens& out) {
  const auto& t = w_.t;
  const auto& c = t.columns();
  const auto first = out.size();
  out.resize(first + rows.size());
  const auto* device = w_.device(window.device);
  const auto length = static_cast<double>(window.end_ns - window.begin_ns);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto row = rows[i];
    const auto at = first + i;
    place_[row] = static_cast<std::int32_t>(at);
    out.kind[at] = static_cast<std::uint8_t>(w_.kinds[row]);
    const auto& words = w_.pieces(row);
    out.piece0[at] = words[0];
    out.piece1[at] = words[1];
    out.piece2[at] = words[2];
    out.piece3[at] = words[3];
    out.piece4[at] = words[4];
    out.piece5[at] = words[5];
    const auto place = static_cast<double>(c.ts[row] - window.begin_ns) / length;
    out.place[at] = static_cast<float>(std::clamp(place, 0.0, 1.0));
    out.duration[at] = log_count(c.dur[row]);
    out.duration_ratio[at] = w_.usual.ratio(t, row);
    out.gap[at] = log_count(w_.nesting.gap[row]);
    out.gap_ratio[at] = costs(w_.usual, w_.nesting.gap[row]);
    out.depth[at] = w_.nesting.depth[row];
    out.queue[at] =
        device ? log_count(std::max<std::int64_t>(0, device->time->queue(c.ts[row])))
               : -1.0f;
    out.device_busy[at] =
        device ? static_cast<std::int8_t>(device->busy_at(c.ts[row] - 1)) : -1;
    out.waits[at] = static_cast<std::int8_t>(w_.hosts.waits(row));
    out.launch_delay[at] = -1;
    out.bytes[at] = out.blocks[at] = out.block_threads[at] = -1;
    out.elements[at] = -1;
    out.parent[at] = out.launch[at] = -1;
    if (t.lanes.on_stream(row)) {
      write_work(row, at, out);
    } else {
      out.elements[at] = log_count(elements_of(w_.args.op(row)));
    }
  }
  write_lanes(rows, first, out);
  write_repeats(rows, first, out);
}

void TokenWriter::tie(std::span<const std::uint32_t> rows, std::size_t first,
                      Tokens& out) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool work = w_.t.lanes.on_stream(rows[i]);
    const auto to = work ? w_.t.launch_of(rows[i]) : w_.nesting.above[rows[i]];
    if (to != kNoRow) (work ? out.launch : out.parent)[first + i] = place_[to];
  }
  for (const auto row : rows) place_[row] = -1;
}

void TokenWriter::write_work(std::uint32_t row, std::size_t at, Tokens& out) const {
  const auto& c = w_.t.columns();
  const auto& work = w_.args.work(row);
  out.bytes[at] = log_count(work.bytes);
  out.blocks[at] = log_count(work.blocks);
  out.block_threads[at] = log_count(work.block_threads);
  const auto launch = w_.t.launch_of(row);
  if (launch == kNoRow) return;
  const auto delay = std::max<std::int64_t>(0, c.ts[row] - c.end(launch));
  out.launch_delay[at] = costs(w_.usual, delay);
  out.depth[at] =
      static_cast<std::uint8_t>(std::min(255, w_.nesting.depth[launch] + 1));
}

void TokenWriter::write_lanes(std::span<const std::uint32_t> rows, std::size_t first,
                              Tokens& out) {
  struct Seen {
    std::uint16_t number = 0;
    std::size_t rows = 0;
  };
  const auto& t = w_.t;
  std::unordered_map<std::uint32_t, Seen> seen;
  std::vector<std::uint32_t> order;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto lane = t.lanes.lane[rows[i]];
    const auto [it, fresh] = seen.try_emplace(lane);
    if (fresh) {
      it->second.number =
          static_cast<std::uint16_t>(std::min<std::size_t>(65535, order.size()));
      order.push_back(lane);
    }
    ++it->second.rows;
    out.lane[first + i] = it->second.number;
  }
  // Of lanes with equally many the first to begin.
  std::uint32_t main[2] = {timeline::kNoLane, timeline::kNoLane};
  for (const auto lane : order) {
    auto& best = main[t.lanes.lanes[lane].is_stream];
    if (best == timeline::kNoLane || seen[lane].rows > seen[best].rows) best = lane;
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto lane = t.lanes.lane[rows[i]];
    const bool stream = t.lanes.lanes[lane].is_stream;
    const bool is_main = main[stream] == lane;
    out.lane_kind[first + i] =
        stream ? (is_main ? kMainStream : kStream) : (is_main ? kMainThread : kThread);
  }
}

void TokenWriter::write_repeats(std::span<const std::uint32_t> rows, std::size_t first,
                                Tokens& out) {
  const auto& t = w_.t;
  // The last row inside each event, or on each lane outside of any, and where its run
  // of equal names began.
  struct Run {
    std::uint32_t name = 0;
    std::size_t head = 0;
  };
  std::map<std::pair<bool, std::uint32_t>, Run> last;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto row = rows[i];
    const auto at = first + i;
    const auto above = w_.nesting.above[row];
    const std::pair<bool, std::uint32_t> key =
        above == kNoRow ? std::pair(false, t.lanes.lane[row]) : std::pair(true, above);
    const auto name = t.columns().name[row];
    auto [it, fresh] = last.try_emplace(key, Run{name, at});
    if (!fresh && it->second.name == name) {
      ++out.repeats[it->second.head];
      out.repeats[at] = 0;
      continue;
    }
    it->second = {name, at};
    out.repeats[at] = 1;
  }
  // Rows inside a row that continues a run continue it too. Parents come first. A
  // parent in an earlier window is not part of this window's runs.
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto above = w_.nesting.above[rows[i]];
    if (above == kNoRow || place_[above] < static_cast<std::int32_t>(first)) continue;
    if (out.repeats[static_cast<std::size_t>(place_[above])] == 0) {
      out.repeats[first + i] = 0;
    }
  }
}

}  // namespace tta::features

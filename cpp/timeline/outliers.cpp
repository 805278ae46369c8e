// SPDX-License-Identifier: BSD-3-Clause
// timeline/outliers.cpp: parts the events at holes of an hour, and keeps the large.
#include "timeline/outliers.h"

#include <algorithm>

#include "timeline/intervals.h"

namespace tta::timeline {
namespace {

using trace::Category;
using trace::Side;

constexpr double kLargePart = 0.05;
constexpr std::int64_t kOutOfProportion = 10;

bool takes_time(const trace::Columns& c, std::uint32_t row) {
  const auto& cat = c.cat_info(row);
  return c.timed(row) && (cat.side == Side::kHost || cat.device_work);
}

struct Part {
  Interval time;
  std::size_t events;
};

// Of rows by start: stretches with no hour of nothing inside.
std::vector<Part> parts_of(const trace::Columns& c,
                           const std::vector<std::uint32_t>& rows) {
  std::vector<Part> parts;
  for (const auto row : rows) {
    if (parts.empty() || c.ts[row] - parts.back().time.end >= kLongRecording) {
      parts.push_back({{c.ts[row], c.end(row)}, 0});
    }
    parts.back().time.end = std::max(parts.back().time.end, c.end(row));
    ++parts.back().events;
  }
  return parts;
}

}  // namespace

std::vector<std::uint32_t> find_outliers(const trace::Trace& t) {
  const auto& c = t.columns;
  const auto n = static_cast<std::uint32_t>(c.size());
  std::int64_t first = trace::kTimeLimit, last = -trace::kTimeLimit;
  for (std::uint32_t row = 0; row < n; ++row) {
    if (!takes_time(c, row)) continue;
    first = std::min(first, c.ts[row]);
    last = std::max(last, c.end(row));
  }
  if (last - first < kLongRecording) return {};

  std::vector<std::uint32_t> rows;
  for (std::uint32_t row = 0; row < n; ++row) {
    if (takes_time(c, row) && c.dur[row] < kLongRecording) rows.push_back(row);
  }
  if (rows.empty()) return {};  // nothing to measure the long ones by
  std::sort(rows.begin(), rows.end(),
            [&](auto a, auto b) { return c.ts[a] < c.ts[b]; });
  const auto parts = parts_of(c, rows);
  const auto least = kLargePart * static_cast<double>(rows.size());
  Interval kept{trace::kTimeLimit, -trace::kTimeLimit};
  std::vector<Interval> small;
  for (const auto& part : parts) {
    if (static_cast<double>(part.events) < least) {
      small.push_back(part.time);
    } else {
      kept.begin = std::min(kept.begin, part.time.begin);
      kept.end = std::max(kept.end, part.time.end);
    }
  }
  // Twenty parts or more of the same few events: nothing to tell the odd ones by.
  if (kept.begin > kept.end) return {};

  const auto in_small_part = [&](std::int64_t at) {
    const auto it = std::upper_bound(
        small.begin(), small.end(), at,
        [](std::int64_t when, const Interval& part) { return when < part.begin; });
    return it != small.begin() && at <= std::prev(it)->end;
  };
  std::vector<std::uint32_t> out;
  for (std::uint32_t row = 0; row < n; ++row) {
    if (!takes_time(c, row)) continue;
    const bool is_long = c.dur[row] >= kLongRecording;
    const bool odd = is_long ? c.cat(row) != Category::kPythonFunction
                                   ? c.dur[row] / kOutOfProportion >= kept.length()
                                   : c.end(row) < kept.begin || c.ts[row] > kept.end
                             : in_small_part(c.ts[row]);
    if (odd) out.push_back(row);
  }
  return out;
}

}  // namespace tta::timeline

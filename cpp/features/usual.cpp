// SPDX-License-Identifier: BSD-3-Clause
// features/usual.cpp: sorts lengths by name, then takes the middle of each.
#include "features/usual.h"

#include <limits>
#include <span>
#include <utility>

#include "timeline/median.h"
#include "timeline/windows.h"

namespace tta::features {
namespace {

using timeline::kNoRow;

// The median length of the rows of each name. Lengths lie name after name in one
// vector.
std::vector<std::int64_t> medians(const trace::Trace& t,
                                  const std::vector<std::uint32_t>& rows) {
  const auto& c = t.columns;
  std::vector<std::size_t> end(t.strings.size() + 1, 0);
  for (const auto row : rows) ++end[c.name[row] + 1];
  for (std::size_t i = 1; i < end.size(); ++i) end[i] += end[i - 1];
  std::vector<std::int64_t> lengths(rows.size());
  auto at = end;
  for (const auto row : rows) lengths[at[c.name[row]]++] = c.dur[row];
  std::vector<std::int64_t> out(t.strings.size(), -1);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto first = lengths.begin() + static_cast<std::ptrdiff_t>(end[i]);
    const auto last = lengths.begin() + static_cast<std::ptrdiff_t>(end[i + 1]);
    if (first == last) continue;
    const auto middle = first + (last - first - 1) / 2;
    std::nth_element(first, middle, last);
    out[i] = *middle;
  }
  return out;
}

}  // namespace

Usual usual_of(const timeline::Timeline& t, const std::vector<Kind>& kinds) {
  const auto& c = t.columns();
  Usual out;
  out.first.assign(t.trace->strings.size(), std::numeric_limits<std::int64_t>::max());
  std::vector<std::uint32_t> host, device;
  std::vector<char> calls_another(c.size(), 0);
  for (const auto row : t.lanes.rows) {
    if (!timeline::counts_in_windows(c.cat(row))) continue;
    auto& first = out.first[c.name[row]];
    first = std::min(first, c.ts[row]);
    const bool on_stream = t.lanes.on_stream(row);
    (on_stream ? device : host).push_back(row);
    if (on_stream) continue;
    const auto parent = t.tree.parent[row];
    if (parent != kNoRow && is_operator(kinds[row])) calls_another[parent] = 1;
  }
  out.on_host = medians(*t.trace, host);
  out.on_device = medians(*t.trace, device);

  // By how well they stand for the cost of a launch.
  std::vector<std::int64_t> launches, calls, leaves, any;
  for (const auto row : host) {
    const auto kind = kinds[row];
    any.push_back(c.dur[row]);
    if (kind == Kind::kLaunch) {
      launches.push_back(c.dur[row]);
    } else if (is_call(kind) && kind != Kind::kWait) {
      calls.push_back(c.dur[row]);
    } else if (is_operator(kind) && !calls_another[row]) {
      leaves.push_back(c.dur[row]);
    }
  }
  for (auto* lengths : {&launches, &calls, &leaves, &any}) {
    if (out.launch_cost > 0 || lengths->empty()) continue;
    out.launch_cost = timeline::lower_median(std::move(*lengths));
  }
  auto scale = out.launch_cost;
  if (scale == 0 && !device.empty()) {
    std::vector<std::int64_t> lengths;
    for (const auto row : device) lengths.push_back(c.dur[row]);
    scale = timeline::lower_median(std::move(lengths));
  }
  if (scale > 0) out.least = static_cast<double>(scale) / 16;
  return out;
}

}  // namespace tta::features

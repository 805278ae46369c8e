// SPDX-License-Identifier: BSD-3-Clause
// timeline/window_rows.cpp: the threads of each process merged, then looked up by time.
#include "timeline/window_rows.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "timeline/sort_runs.h"

namespace tta::timeline {
namespace {

// What of rows by start lies in a window. The first one has what began before the span
// was clipped, the last one what starts at its very end.
std::pair<std::vector<std::uint32_t>::const_iterator,
          std::vector<std::uint32_t>::const_iterator>
part(const Timeline& t, const std::vector<std::uint32_t>& rows, const Window& w) {
  const auto before = [&](std::uint32_t row, std::int64_t at) {
    return t.columns().ts[row] < at;
  };
  const auto first =
      w.begin_ns == t.span.begin
          ? rows.begin()
          : std::lower_bound(rows.begin(), rows.end(), w.begin_ns, before);
  const auto last = w.end_ns == t.span.end
                        ? rows.end()
                        : std::lower_bound(first, rows.end(), w.end_ns, before);
  return {first, last};
}

}  // namespace

WindowRows::WindowRows(const Timeline& t) : t_(t) {
  std::map<std::int64_t, std::vector<std::uint32_t>> lanes;
  for (std::uint32_t lane = 0; lane < t.lanes.lanes.size(); ++lane) {
    const auto& l = t.lanes.lanes[lane];
    if (!l.is_stream) lanes[l.pid].push_back(lane);
  }
  std::unordered_map<std::int64_t, std::size_t> asked;
  const auto list = [&](std::int64_t pid) {
    const auto threads = lanes.find(pid);
    if (threads == lanes.end() || host_.contains(pid)) return;
    host_.emplace(pid, host_rows(threads->second));
  };
  for (std::size_t i = 0; i < t.devices.size(); ++i) {
    const auto pid = feeder_of(t, t.devices[i]);
    devices_[t.devices[i].device] = {i, ++asked[pid] <= kMostDevices};
    list(pid);
  }
  for (const auto& process : t.host) list(process.pid);
}

std::vector<std::uint32_t> WindowRows::host_rows(
    const std::vector<std::uint32_t>& threads) const {
  const auto& c = t_.columns();
  // Threads in an order that the file has no part in, as far as they differ at all.
  auto lanes = threads;
  const auto signature = [&](std::uint32_t lane) {
    const auto& l = t_.lanes.lanes[lane];
    const auto row = t_.lanes.rows[l.first];
    return std::tuple(c.ts[row], -c.dur[row], t_.trace->name(row), l.last - l.first);
  };
  std::stable_sort(lanes.begin(), lanes.end(),
                   [&](auto a, auto b) { return signature(a) < signature(b); });
  std::vector<std::uint32_t> out;
  for (const auto lane : lanes) {
    for (const auto row : t_.lanes.rows_of(t_.lanes.lanes[lane])) {
      if (counts_in_windows(c.cat(row))) out.push_back(row);
    }
  }
  sort_runs(out, [&](std::uint32_t a, std::uint32_t b) {
    return c.ts[a] != c.ts[b] ? c.ts[a] < c.ts[b] : c.dur[a] > c.dur[b];
  });
  return out;
}

std::vector<std::uint32_t> WindowRows::of(const Window& w) const {
  const auto& c = t_.columns();
  const auto device = devices_.find(w.device);
  std::vector<std::uint32_t> work;
  if (device != devices_.end()) {
    const auto [first, last] = part(t_, t_.devices[device->second.index].rows, w);
    work.assign(first, last);
    std::stable_sort(work.begin(), work.end(), [&](auto a, auto b) {
      if (c.ts[a] != c.ts[b]) return c.ts[a] < c.ts[b];
      if (c.dur[a] != c.dur[b]) return c.dur[a] > c.dur[b];
      return t_.trace->name(a) < t_.trace->name(b);
    });
    if (!device->second.counts_host) return work;
  }
  const auto host = host_.find(w.pid);
  if (host == host_.end()) return work;
  const auto [first, last] = part(t_, host->second, w);
  std::vector<std::uint32_t> out;
  out.reserve(work.size() + static_cast<std::size_t>(last - first));
  std::merge(first, last, work.begin(), work.end(), std::back_inserter(out),
             [&](auto a, auto b) { return c.ts[a] < c.ts[b]; });
  return out;
}

std::vector<std::uint32_t> rows_of(const Timeline& timeline, const Window& window) {
  return WindowRows(timeline).of(window);
}

}  // namespace tta::timeline

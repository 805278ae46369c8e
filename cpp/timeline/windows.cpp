// SPDX-License-Identifier: BSD-3-Clause
// timeline/windows.cpp: cuts a device's time at step borders and by event count.
#include "timeline/windows.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "timeline/sort_runs.h"
#include "timeline/step_borders.h"
#include "timeline/timeline.h"

namespace tta::timeline {
namespace {

using trace::Category;

struct Start {
  std::int64_t at;
  bool work;
};

bool earlier(const Start& a, const Start& b) { return a.at < b.at; }

// What the threads of each process start, by time, sorted once for all its devices.
class HostStarts {
 public:
  explicit HostStarts(const Timeline& t) : t_(t) {
    for (const auto& lane : t.lanes.lanes) {
      if (!lane.is_stream) threads_[lane.pid].push_back(&lane);
    }
  }

  // Empty once a process has been asked for too often, see above.
  const std::vector<Start>& of(std::int64_t pid) {
    static const std::vector<Start> kNone;
    const auto [it, fresh] = processes_.try_emplace(pid);
    auto& [asked, starts] = it->second;
    if (fresh) starts = list(pid);
    return ++asked <= kMostDevices ? starts : kNone;
  }

 private:
  std::vector<Start> list(std::int64_t pid) const {
    const auto& c = t_.columns();
    std::vector<Start> starts;
    const auto threads = threads_.find(pid);
    if (threads == threads_.end()) return starts;
    for (const auto* lane : threads->second) {
      for (const auto row : t_.lanes.rows_of(*lane)) {
        if (!counts_in_windows(c.cat(row))) continue;
        starts.push_back({c.ts[row], false});
      }
    }
    sort_runs(starts, earlier);
    return starts;
  }

  const Timeline& t_;
  std::map<std::int64_t, std::vector<const Lane*>> threads_;
  std::map<std::int64_t, std::pair<std::size_t, std::vector<Start>>> processes_;
};

std::vector<Start> merge(const Timeline& t, const std::vector<Start>& host,
                         const DeviceTime* d) {
  if (d == nullptr) return host;
  std::vector<Start> work, starts;
  for (const auto row : d->rows) work.push_back({t.columns().ts[row], true});
  starts.reserve(host.size() + work.size());
  std::merge(host.begin(), host.end(), work.begin(), work.end(),
             std::back_inserter(starts), earlier);
  return starts;
}

void tile(const Timeline& t, std::int64_t pid, const DeviceTime* d,
          const WindowSpec& spec, const StepBorders& steps, HostStarts& host,
          std::vector<Window>& out) {
  const auto& borders = d == nullptr ? steps.of_own(pid) : steps.of(pid);
  const auto starts = merge(t, host.of(pid), d);
  Window w;
  w.begin_ns = t.span.begin;
  w.device = d == nullptr ? -1 : d->device;
  w.number = d == nullptr ? -1 : d->number;
  w.pid = pid;
  auto border = borders.begin();
  auto start = starts.begin();
  // Annotations may begin before the span where it was clipped; they fall in the first.
  while (w.begin_ns < t.span.end) {
    while (border != borders.end() && border->at <= w.begin_ns)
      w.step = (border++)->step;
    const auto limit =
        std::min(border == borders.end() ? t.span.end : border->at, t.span.end);
    w.end_ns = limit;
    w.events = w.work = 0;
    for (; start != starts.end() && start->at < limit; ++start) {
      if (w.events >= spec.max_events && start->at > w.begin_ns) {
        w.end_ns = start->at;
        // What starts with it is the next window's as well.
        while (std::prev(start)->at == w.end_ns) {
          --start;
          --w.events;
          w.work -= start->work;
        }
        break;
      }
      ++w.events;
      w.work += start->work;
    }
    out.push_back(w);
    w.begin_ns = w.end_ns;
  }
  // What starts at the span's very end (no length) belongs to the last window.
  for (; start != starts.end() && !out.empty(); ++start) {
    ++out.back().events;
    out.back().work += start->work;
  }
}

}  // namespace

std::int64_t feeder_of(const Timeline& t, const DeviceTime& d) {
  return d.pid == trace::kNoId ? t.columns().pid[d.rows.front()] : d.pid;
}

std::vector<Window> make_windows(const Timeline& t, const WindowSpec& spec) {
  if (spec.max_events == 0) {
    throw std::invalid_argument("max_events must be at least 1, not 0");
  }
  std::vector<Window> out;
  if (t.span.length() == 0) return out;
  const StepBorders steps(t);
  HostStarts host(t);
  for (const auto& d : t.devices) {
    tile(t, feeder_of(t, d), &d, spec, steps, host, out);
  }
  for (const auto& process : t.host) {
    tile(t, process.pid, nullptr, spec, steps, host, out);
  }
  return out;
}

std::vector<WindowNode> window_tree(const Timeline& t, const Window& window) {
  const auto& c = t.columns();
  std::vector<WindowNode> nodes;
  std::unordered_map<std::uint32_t, std::int32_t> index;
  std::vector<std::uint32_t> chain;
  const auto add = [&](std::uint32_t row, std::int32_t parent) {
    const auto [it, fresh] =
        index.emplace(row, static_cast<std::int32_t>(nodes.size()));
    if (fresh) nodes.push_back({row, parent});
    return it->second;
  };
  for (const auto& d : t.devices) {
    if (d.device != window.device) continue;
    const auto first = std::lower_bound(
        d.rows.begin(), d.rows.end(), window.begin_ns,
        [&](std::uint32_t row, std::int64_t at) { return c.ts[row] < at; });
    const bool last_window = window.end_ns == t.span.end;
    for (auto it = first; it != d.rows.end(); ++it) {
      if (c.ts[*it] >= window.end_ns && !last_window) break;
      chain.clear();
      for (auto row = t.launch_of(*it); row != kNoRow; row = t.tree.parent[row]) {
        if (c.cat(row) != Category::kPythonFunction) chain.push_back(row);
      }
      std::int32_t parent = -1;
      for (auto row = chain.rbegin(); row != chain.rend(); ++row) {
        parent = add(*row, parent);
      }
      add(*it, parent);
    }
  }
  return nodes;
}

}  // namespace tta::timeline

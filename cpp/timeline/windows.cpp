// SPDX-License-Identifier: BSD-3-Clause
// timeline/windows.cpp: cuts a device's time at step borders and by event count; the
// threads of each process merged, to look windows up by time.
#include "timeline/windows.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <stdexcept>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "trace/order.h"

namespace tta::timeline {
namespace {

using trace::Category;

struct Border {
  std::int64_t at = 0;
  std::int64_t step = -1;  // of the time from here on; kNoStep between steps
};

// The next step begins a few microseconds after the last: such a crack belongs to the
// step before it. A longer pause (evaluation, checkpoint) is a window of its own.
constexpr double kCrackShare = 0.1;

std::vector<Border> draw(const std::vector<Span>& steps, Interval span) {
  std::vector<Border> borders{{span.begin, kNoStep}};
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto& s = steps[i];
    borders.push_back({s.begin, s.number});
    const auto next = i + 1 < steps.size() ? steps[i + 1].begin : span.end;
    const auto length = static_cast<double>(s.end - s.begin);
    if (static_cast<double>(next - s.end) > kCrackShare * length) {
      borders.push_back({s.end, kNoStep});
    }
  }
  std::stable_sort(borders.begin(), borders.end(),
                   [](const auto& a, const auto& b) { return a.at < b.at; });
  return borders;
}

// The borders that the steps of each process draw, found once for all its devices: at
// the begin of each step, and at its end if a pause follows. O(n log n) in the steps.
class StepBorders {
 public:
  explicit StepBorders(const Timeline& t) : none_(draw({}, t.span)) {
    std::map<std::int64_t, std::vector<Span>> steps;
    for (const auto& s : t.spans.steps) {
      auto& own = steps[t.columns().pid[s.row]];
      if (!own.empty() && s.end <= own.back().end) continue;  // nested in the last
      own.push_back(s);
    }
    for (const auto& [pid, own] : steps) processes_[pid] = draw(own, t.span);
  }

  // Those for a process, in order of time, the first at the span's begin. Steps of
  // another process say nothing of it, unless that is the only one with steps: then the
  // launcher of the work is its helper.
  const std::vector<Border>& of(std::int64_t pid) const {
    const auto own = processes_.find(pid);
    if (own != processes_.end()) return own->second;
    return processes_.size() == 1 ? processes_.begin()->second : none_;
  }

  // Those of the process's own steps alone. For processes without a device: each has
  // windows of its own, and none is another's helper.
  const std::vector<Border>& of_own(std::int64_t pid) const {
    const auto own = processes_.find(pid);
    return own == processes_.end() ? none_ : own->second;
  }

 private:
  std::map<std::int64_t, std::vector<Border>> processes_;
  std::vector<Border> none_;
};

struct Start {
  std::int64_t at;
  bool work;
};

bool earlier(const Start& a, const Start& b) { return a.at < b.at; }

// What the threads of each process start, by time, sorted once for all its devices.
class HostStarts {
 public:
  explicit HostStarts(const Timeline& t) : t_(t) {
    for (const auto& lane : t.lanes.threads()) threads_[lane.pid].push_back(&lane);
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
    trace::sort_runs(starts, earlier);
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

WindowRows::WindowRows(const Timeline& t) : t_(t) {
  std::map<std::int64_t, std::vector<std::uint32_t>> lanes;
  for (const auto& lane : t.lanes.threads()) lanes[lane.pid].push_back(lane.id);
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
    for (const auto row : t_.lanes.rows_of(lane)) {
      if (counts_in_windows(c.cat(row))) out.push_back(row);
    }
  }
  trace::sort_runs(out, [&](std::uint32_t a, std::uint32_t b) {
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

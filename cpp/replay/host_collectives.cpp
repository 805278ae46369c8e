// SPDX-License-Identifier: BSD-3-Clause
// replay/host_collectives.cpp: matches ranges, operators, waits and gradients by order.
#include "replay/host_collectives.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "timeline/timeline.h"

namespace tta::replay {
namespace {

// When a thread may have waited for a collective on the host.

using timeline::Interval;
using timeline::Name;
using trace::Category;

// Shorter gaps between operators are the interpreter's own.
constexpr std::int64_t kMinGap = 30'000;

// Returns when a thread may have been blocked, by start: in Work.wait() and
// wait_tensor; and between operators, in a backward pass and where buffers are
// broadcast (DDP waits there), or, in a trace without Python frames, anywhere. They
// may overlap. O(n log n) in its rows.
std::vector<Interval> may_be_blocked(const timeline::Timeline& t, std::uint32_t lane) {
  const auto& c = t.columns();
  std::vector<Interval> out, inside, busy;
  bool frames = false;
  for (const auto row : t.lanes.rows_of(lane)) {
    const Interval time{c.ts[row], t.tree.end(c, row)};
    const bool python = c.cat(row) == Category::kPythonFunction;
    frames = frames || python;
    if (python &&
        (t.named(row, Name::kRunsBackward) || t.named(row, Name::kSendsBuffers))) {
      inside.push_back(time);
    } else if ((python && t.named(row, Name::kWaitMethod)) ||
               t.named(row, Name::kCollectiveWait)) {
      out.push_back(time);
    } else if (c.cat(row) == Category::kCpuOp) {
      busy.push_back(time);
    }
  }
  if (!frames) inside = {t.span};
  for (const auto& part : timeline::subtract(timeline::unite(std::move(inside)),
                                             timeline::unite(std::move(busy)))) {
    if (part.length() > kMinGap) out.push_back(part);
  }
  std::stable_sort(out.begin(), out.end(), [](const Interval& a, const Interval& b) {
    return a.begin < b.begin;
  });
  return out;
}

using timeline::kNoRow;

// The backend may be interrupted between waking who waits and ending its range.
constexpr std::int64_t kEndsLate = 20'000;

// "gloo:all_reduce" and "c10d::allreduce_" -> "allreduce".
std::string plain_name(std::string_view name) {
  std::string out(name.substr(name.rfind(':') + 1));
  std::erase(out, '_');
  return out;
}

// A backward pass: when each of its gradients was there.
struct Pass {
  std::vector<std::int64_t> gradients;
  std::vector<HostCollective*> reductions;  // asked for after the first of them
};

class Process {
 public:
  Process(const timeline::Timeline& t, const timeline::HostTime& host)
      : t_(t), c_(t.columns()), main_(host.lane) {}

  std::vector<HostCollective> run(std::vector<HostCollective> ranges) {
    if (ranges.empty()) return ranges;
    read_threads(ranges.front().row);
    for (auto& r : ranges) ask(r);
    find_ready();
    std::int64_t reached = t_.span.begin;
    for (const auto& wait : may_be_blocked(t_, main_)) {
      // One inside another is part of it.
      if (wait.end <= reached) continue;
      reached = wait.end;
      HostCollective* last = nullptr;
      const auto [from, to] = around(ranges, wait);
      for (auto i = from; i < to; ++i) {
        auto& r = ranges[i];
        if (r.end <= wait.begin || r.end > wait.end + kEndsLate) continue;
        if (last == nullptr || r.end >= last->end) last = &r;
      }
      if (last == nullptr || last->woken >= 0) continue;
      last->waiter = main_;
      last->waiting_since = wait.begin;
      last->woken = wait.end;
    }
    return ranges;
  }

 private:
  void read_threads(std::uint32_t some_row) {
    const auto pid = c_.pid[some_row];
    for (const auto& step : t_.spans.steps) {
      steps_[t_.lanes.lane[step.row]].push_back(step.begin);
    }
    for (const auto& lane : t_.lanes.threads()) {
      if (lane.pid != pid) continue;
      bool in_pass = false;
      for (const auto row : t_.lanes.rows_of(lane)) {
        if (c_.cat(row) != Category::kCpuOp) continue;
        const bool asks = t_.named(row, Name::kCollectiveCall);
        if (asks) asks_[plain_name(t_.trace->name(row))].push_back({row, lane.id});
        const auto parent = t_.tree.parent[row];
        if (parent != kNoRow && c_.cat(parent) == Category::kCpuOp) continue;
        if (!t_.named(row, Name::kAutogradNode)) {
          in_pass = in_pass && asks;
        } else if (t_.named(row, Name::kAccumulatesGradient)) {
          if (!in_pass) passes_.push_back({});
          in_pass = true;
          passes_.back().gradients.push_back(t_.tree.end(c_, row));
        }
      }
    }
    for (auto& [name, asks] : asks_) {
      std::stable_sort(asks.begin(), asks.end(), [&](const auto& a, const auto& b) {
        return c_.ts[a.row] < c_.ts[b.row];
      });
    }
    std::stable_sort(passes_.begin(), passes_.end(), [](const auto& a, const auto& b) {
      return a.gradients.front() < b.gradients.front();
    });
  }

  void ask(HostCollective& r) {
    const auto name = plain_name(t_.trace->name(r.row));
    auto& asks = asks_[name];
    auto& next = next_[name];
    if (next >= asks.size() || c_.ts[asks[next].row] > r.begin) return;
    const auto [row, lane] = asks[next++];
    r.asker = lane;
    r.asked = r.ready = c_.ts[row];
    for (const auto up : t_.tree.above(row)) {
      if (t_.named(up, Name::kAutogradNode)) return;
    }
    r.ready = start_of_step(lane, r.asked);
    if (name.find("reduce") == std::string::npos) return;
    auto* pass = timeline::last_begun(
        passes_, r.asked, [](const Pass& p) { return p.gradients.front(); });
    if (pass != nullptr) pass->reductions.push_back(&r);
  }

  void find_ready() {
    for (const auto& pass : passes_) {
      const auto n = pass.reductions.size();
      for (std::size_t k = 0; k < n; ++k) {
        const auto there = ((k + 1) * pass.gradients.size() + n - 1) / n;
        auto& r = *pass.reductions[k];
        r.ready = std::min(r.asked, pass.gradients[there - 1]);
      }
    }
  }

  std::int64_t start_of_step(std::uint32_t lane, std::int64_t when) const {
    auto out = std::max(t_.span.begin, c_.ts[t_.lanes.rows_of(lane).front()]);
    const auto it = steps_.find(lane);
    if (it == steps_.end()) return out;
    const auto* step = timeline::last_begun(it->second, when, std::identity());
    return step == nullptr ? out : std::max(out, *step);
  }

  struct Ask {
    std::uint32_t row, lane;
  };
  const timeline::Timeline& t_;
  const trace::Columns& c_;
  std::uint32_t main_;
  std::map<std::string, std::vector<Ask>> asks_;  // by name, by start
  std::map<std::string, std::size_t> next_;       // not yet taken
  std::vector<Pass> passes_;
  std::map<std::uint32_t, std::vector<std::int64_t>> steps_;  // begins, by lane
};

}  // namespace

std::pair<std::size_t, std::size_t> around(std::span<const HostCollective> own,
                                           Interval time) {
  constexpr std::size_t kBefore = 64;
  const auto place = [&](std::int64_t when) {
    const auto it =
        std::lower_bound(own.begin(), own.end(), when,
                         [](const auto& r, std::int64_t at) { return r.begin < at; });
    return static_cast<std::size_t>(it - own.begin());
  };
  const auto first = place(time.begin);
  return {first - std::min(kBefore, first), place(time.end)};
}

std::vector<HostCollective> find_host_collectives(const timeline::Timeline& t) {
  std::vector<std::vector<HostCollective>> ranges(t.host.size());
  for (const auto& span : t.spans.annotations) {
    const auto i = t.host.index_of(t.columns().pid[span.row]);
    if (i == timeline::HostTimes::kNone) continue;
    if (!t.named(span.row, Name::kBackend)) continue;
    const auto time = timeline::intersect({span.begin, span.end}, t.span);
    if (time.length() <= 0) continue;
    const auto lane = t.lanes.lane[span.row];
    ranges[i].push_back({span.row, lane, time.begin, time.end});
  }
  std::vector<HostCollective> out;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const auto found = Process(t, t.host[i]).run(std::move(ranges[i]));
    out.insert(out.end(), found.begin(), found.end());
  }
  return out;
}

}  // namespace tta::replay

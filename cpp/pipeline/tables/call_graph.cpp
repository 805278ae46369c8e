// SPDX-License-Identifier: BSD-3-Clause
// pipeline/tables/call_graph.cpp: host events thread by thread, then device work, each
// added to the node of its chain of kinds.
#include "pipeline/tables/call_graph.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "patterns/matrix_kernels.h"
#include "timeline/windows.h"

namespace tta::pipeline {
namespace {

using features::Kind;
using timeline::Interval;
using timeline::kNoRow;

// Stretches of time that can be asked how much of an event lies in them.
class Stretches {
 public:
  explicit Stretches(std::vector<Interval> intervals)
      : set_(timeline::unite(std::move(intervals))) {
    std::int64_t sum = 0;
    for (const auto& one : set_) {
      before_.push_back(sum);
      sum += one.length();
    }
  }

  std::int64_t inside(Interval time) const {
    return until(time.end) - until(time.begin);
  }
  // Events without a length are in them too.
  bool has(std::int64_t moment) const {
    const auto it = after(moment);
    return it != set_.begin() && moment < std::prev(it)->end;
  }

 private:
  timeline::IntervalSet::const_iterator after(std::int64_t moment) const {
    return std::upper_bound(
        set_.begin(), set_.end(), moment,
        [](std::int64_t at, const Interval& one) { return at < one.begin; });
  }
  std::int64_t until(std::int64_t moment) const {
    const auto it = after(moment);
    if (it == set_.begin()) return 0;
    const auto index = static_cast<std::size_t>(it - set_.begin()) - 1;
    return before_[index] + std::min(moment, set_[index].end) - set_[index].begin;
  }

  timeline::IntervalSet set_;
  std::vector<std::int64_t> before_;
};

class Graph {
 public:
  Graph(const timeline::Timeline& t, std::span<const std::uint32_t> marked)
      : t_(t),
        kinds_(features::kinds_of_rows(t)),
        marked_(marked.begin(), marked.end()) {}

  void add_host(const timeline::Lane& lane, const Stretches& stretches) {
    const auto& c = t_.columns();
    for (const auto row : t_.lanes.rows_of(lane)) {
      if (!shows(row)) continue;
      const Interval time{c.ts[row], t_.tree.end(c, row)};
      const auto inside = stretches.inside(time);
      if (inside == 0 && !stretches.has(time.begin)) continue;
      const auto node = node_of(row);
      count(node, row, inside);
      if (const auto above = nodes_[node].parent; above >= 0) {
        nodes_[above].self_ns -= inside;
      }
    }
  }

  void add_work(const timeline::DeviceTime& device, const Stretches& stretches,
                const std::set<std::int64_t>& processes) {
    const auto& c = t_.columns();
    for (const auto row : device.rows) {
      const auto inside = stretches.inside({c.ts[row], c.end(row)});
      if (inside == 0 && !stretches.has(c.ts[row])) continue;
      const auto launch = t_.launch_of(row);
      // Several processes may feed devices of one number.
      if (launch != kNoRow &&
          !processes.contains(t_.lanes.lanes[t_.lanes.lane[launch]].pid)) {
        continue;
      }
      const auto node = child(launch == kNoRow ? -1 : node_of(launch), row);
      count(node, row, inside);
      for (auto at = nodes_[node].parent; at >= 0; at = nodes_[at].parent) {
        nodes_[at].device_ns += inside;
      }
    }
  }

  std::vector<CallNode> take(std::size_t most) {
    // What overhangs its parent by what Kineto rounds must not leave less than nothing.
    for (auto& node : nodes_) node.self_ns = std::max<std::int64_t>(0, node.self_ns);
    const auto kept = telling(most);
    // Of each node the nearest one above that is kept; parents come before children.
    std::vector<std::int32_t> above(nodes_.size(), -1);
    std::vector<std::vector<std::int32_t>> below(nodes_.size() + 1);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const auto parent = nodes_[i].parent;
      above[i] = parent < 0 || kept[parent] ? parent : above[parent];
      if (kept[i]) below[above[i] + 1].push_back(static_cast<std::int32_t>(i));
    }
    std::vector<CallNode> out;
    std::vector<std::pair<std::int32_t, std::int32_t>> open{
        {-1, -1}};  // node, its place
    while (!open.empty()) {
      const auto [node, place] = open.back();
      open.pop_back();
      auto next = place;
      if (node >= 0) {
        next = static_cast<std::int32_t>(out.size());
        out.push_back(nodes_[node]);
        out.back().parent = place;
      }
      auto& mine = below[node + 1];
      // The last one is taken first.
      std::sort(mine.begin(), mine.end(), [&](std::int32_t a, std::int32_t b) {
        const auto x = whole(nodes_[a]), y = whole(nodes_[b]);
        return x != y ? x < y : a > b;
      });
      for (const auto one : mine) open.emplace_back(one, next);
    }
    return out;
  }

 private:
  std::string_view units_of(std::uint32_t row) const {
    if (kinds_[row] != Kind::kMatrixKernel) return "";
    const auto name = t_.trace->strings.view(t_.columns().name[row]);
    if (patterns::uses_tensor_cores(name)) return "tensor cores";
    return patterns::uses_plain_units(name) ? "plain units" : "";
  }

  static std::int64_t whole(const CallNode& node) {
    return node.time_ns + node.device_ns;
  }

  bool shows(std::uint32_t row) const {
    return timeline::counts_in_windows(t_.columns().cat(row)) &&
           kinds_[row] != Kind::kStep;
  }

  // The node of a host row, made with those of all that it lies in.
  std::int32_t node_of(std::uint32_t row) {
    chain_.clear();
    std::int32_t node = -1;
    for (int depth = 0; row != kNoRow && depth < timeline::kMaxDepth; ++depth) {
      if (const auto it = known_.find(row); it != known_.end()) {
        node = it->second;
        break;
      }
      if (shows(row)) chain_.push_back(row);
      row = t_.tree.parent[row];
    }
    for (auto it = chain_.rbegin(); it != chain_.rend(); ++it) {
      node = child(node, *it);
      known_.emplace(*it, node);
    }
    return node;
  }

  std::int32_t child(std::int32_t parent, std::uint32_t row) {
    const auto units = units_of(row);
    const auto key = std::tuple(parent, kinds_[row], units);
    const auto [it, fresh] =
        children_.try_emplace(key, static_cast<std::int32_t>(nodes_.size()));
    if (fresh) {
      CallNode node;
      node.parent = parent;
      node.row = row;
      node.kind = kinds_[row];
      node.units = units;
      nodes_.push_back(node);
    }
    return it->second;
  }

  void count(std::int32_t index, std::uint32_t row, std::int64_t inside) {
    const auto& c = t_.columns();
    auto& node = nodes_[index];
    if (node.count == 0 || c.dur[row] > c.dur[node.row]) node.row = row;
    if (marked_.contains(row) &&
        (node.marked == kNoRow || c.dur[row] > c.dur[node.marked])) {
      node.marked = row;
    }
    ++node.count;
    node.time_ns += inside;
    node.self_ns += inside;
  }

  std::vector<char> telling(std::size_t most) const {
    std::vector<std::int32_t> order(nodes_.size());
    std::iota(order.begin(), order.end(), 0);
    most = std::min(most, order.size());
    const auto weight = [&](std::int32_t i) {
      return nodes_[i].self_ns + nodes_[i].device_ns / 8;
    };
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(most),
                      order.end(), [&](std::int32_t a, std::int32_t b) {
                        const auto x = weight(a), y = weight(b);
                        return x != y ? x > y : a < b;
                      });
    std::vector<char> kept(nodes_.size(), 0);
    for (std::size_t i = 0; i < most; ++i) kept[order[i]] = 1;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].marked == kNoRow) continue;
      kept[i] = 1;
      if (nodes_[i].parent >= 0) kept[nodes_[i].parent] = 1;
    }
    return kept;
  }

  const timeline::Timeline& t_;
  std::vector<Kind> kinds_;
  std::vector<CallNode> nodes_;
  std::unordered_set<std::uint32_t> marked_;
  std::map<std::tuple<std::int32_t, Kind, std::string_view>, std::int32_t> children_;
  std::unordered_map<std::uint32_t, std::int32_t> known_;
  std::vector<std::uint32_t> chain_;
};

}  // namespace

std::vector<CallNode> make_call_graph(const Report& report,
                                      std::span<const std::uint32_t> windows,
                                      std::size_t most,
                                      std::span<const std::uint32_t> marked) {
  const auto& t = *report.timeline;
  std::map<std::int64_t, std::vector<Interval>> of_process;
  std::map<std::int32_t, std::vector<Interval>> of_device;
  std::map<std::int32_t, std::set<std::int64_t>> feeders;
  for (const auto index : windows) {
    if (index >= report.windows.size()) {
      throw std::out_of_range("there is no window " + std::to_string(index));
    }
    const auto& window = report.windows[index].window;
    of_process[window.pid].push_back({window.begin_ns, window.end_ns});
    of_device[window.device].push_back({window.begin_ns, window.end_ns});
    feeders[window.device].insert(window.pid);
  }
  Graph graph(t, marked);
  std::map<std::int64_t, Stretches> processes;
  for (auto& [pid, times] : of_process) processes.emplace(pid, std::move(times));
  for (const auto& lane : t.lanes.lanes) {
    const auto it = processes.find(lane.pid);
    if (!lane.is_stream && it != processes.end()) graph.add_host(lane, it->second);
  }
  for (const auto& device : t.devices) {
    const auto it = of_device.find(device.device);
    if (it == of_device.end()) continue;
    graph.add_work(device, Stretches(std::move(it->second)), feeders[device.device]);
  }
  return graph.take(most);
}

SortOfEvent sort_of(Kind kind) {
  const auto name = features::kinds()[static_cast<std::size_t>(kind)].name;
  if (features::is_operator(kind)) return {name, 'o'};
  if (features::is_call(kind)) return {name, 'c'};
  return {name, features::is_device(kind) ? 'k' : 'a'};
}

std::vector<SortOfEvent> sorts_of(const Report& report,
                                  std::span<const std::uint32_t> rows) {
  const auto& t = *report.timeline;
  const auto kinds = features::kinds_of_rows(t);
  std::vector<SortOfEvent> out;
  for (const auto row : rows) {
    if (row >= kinds.size()) {
      throw std::out_of_range("there is no row " + std::to_string(row));
    }
    const bool frame = t.columns().cat(row) == trace::Category::kPythonFunction;
    out.push_back(frame ? SortOfEvent{"frame", 'f'} : sort_of(kinds[row]));
  }
  return out;
}

}  // namespace tta::pipeline

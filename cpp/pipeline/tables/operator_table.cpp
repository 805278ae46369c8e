// SPDX-License-Identifier: BSD-3-Clause
// pipeline/tables/operator_table.cpp: walks each thread's tree once, parents before
// children.
#include <algorithm>
#include <map>
#include <unordered_set>

#include "pipeline/tables/tables.h"

namespace tta::pipeline {
namespace {

using timeline::kNoRow;
using trace::Category;

// The operators of one thread as a tree of their own, without what lies between them.
struct Node {
  std::uint32_t row = 0;
  std::uint32_t parent = kNoRow;  // index of a node, always a smaller one
  std::int64_t covered = 0;       // up to where operators inside it are counted
  std::int64_t inside_ns = 0;     // of its time, in operators inside it
  std::int64_t self_device_ns = 0, device_ns = 0;
  std::uint64_t self_work = 0, work = 0;
  std::uint32_t first_child = kNoRow, next = kNoRow;
};

class Operators {
 public:
  explicit Operators(const timeline::Timeline& t)
      : t_(t), node_(t.columns().size(), kNoRow) {
    for (const auto* list : {&t.spans.steps, &t.spans.loader, &t.spans.optimizer}) {
      for (const auto& span : *list) named_.insert(span.row);
    }
    for (const auto& lane : t.lanes.lanes) {
      if (!lane.is_stream) add_lane(t.lanes.rows_of(lane));
    }
    add_device_work();
    for (std::size_t i = nodes_.size(); i-- > 0;) link(static_cast<std::uint32_t>(i));
  }

  std::vector<Operator> rows() {
    std::vector<std::uint32_t> open(t_.trace->strings.size(), 0);
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].parent == kNoRow) walk(i, open);
    }
    std::vector<Operator> out;
    for (auto& [name, row] : rows_) {
      row.name = t_.trace->strings.view(name);
      out.push_back(std::move(row));
    }
    std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
      return a.self_ns > b.self_ns;
    });
    return out;
  }

 private:
  // node_ holds, of each row of the thread, the operator that it is or is inside of.
  void add_lane(std::span<const std::uint32_t> rows) {
    const auto& c = t_.columns();
    for (const auto row : rows) {
      const auto above = t_.tree.parent[row];
      const auto around = above == kNoRow ? kNoRow : node_[above];
      if (c.cat(row) != Category::kCpuOp || named_.contains(row)) {
        node_[row] = around;
        continue;
      }
      Node node;
      node.row = row;
      node.parent = around;
      node.covered = c.ts[row];
      if (around != kNoRow) {
        // Siblings may overlap by what Kineto rounds: no moment is taken off twice.
        auto& parent = nodes_[around];
        const auto begin = std::max(c.ts[row], parent.covered);
        const auto end = std::min(c.end(row), c.end(parent.row));
        parent.inside_ns += timeline::Interval{begin, end}.length();
        parent.covered = std::max(parent.covered, end);
      }
      node_[row] = static_cast<std::uint32_t>(nodes_.size());
      nodes_.push_back(node);
    }
  }

  void add_device_work() {
    for (const auto& d : t_.devices) {
      for (const auto row : d.rows) {
        const auto launch = t_.launch_of(row);
        if (launch == kNoRow || node_[launch] == kNoRow) continue;
        auto& node = nodes_[node_[launch]];
        node.self_device_ns += t_.columns().dur[row];
        ++node.self_work;
      }
    }
  }

  // From the last to the first: what is inside a node is complete when it comes.
  void link(std::uint32_t i) {
    auto& node = nodes_[i];
    node.device_ns += node.self_device_ns;
    node.work += node.self_work;
    if (node.parent == kNoRow) return;
    auto& parent = nodes_[node.parent];
    parent.device_ns += node.device_ns;
    parent.work += node.work;
    node.next = parent.first_child;
    parent.first_child = i;
  }

  // Visits a tree with the current number of open calls of each operator.
  void walk(std::uint32_t root, std::vector<std::uint32_t>& open) {
    const auto& c = t_.columns();
    for (auto at = root; at != kNoRow;) {
      add(nodes_[at], open[c.name[nodes_[at].row]]++ == 0);
      if (nodes_[at].first_child != kNoRow) {
        at = nodes_[at].first_child;
        continue;
      }
      for (; at != kNoRow; at = nodes_[at].parent) {
        --open[c.name[nodes_[at].row]];
        if (at == root || nodes_[at].next == kNoRow) continue;
        at = nodes_[at].next;
        break;
      }
    }
  }

  void add(const Node& node, bool outermost) {
    const auto& c = t_.columns();
    const auto dur = c.dur[node.row];
    auto& row = rows_[c.name[node.row]];
    row.min_ns = row.count == 0 ? dur : std::min(row.min_ns, dur);
    row.max_ns = std::max(row.max_ns, dur);
    ++row.count;
    row.self_ns += dur - node.inside_ns;
    row.self_device_ns += node.self_device_ns;
    if (!outermost) return;
    row.total_ns += dur;
    row.device_ns += node.device_ns;
    row.work += node.work;
  }

  const timeline::Timeline& t_;
  std::unordered_set<std::uint32_t> named_;
  std::vector<std::uint32_t> node_;
  std::vector<Node> nodes_;
  std::map<std::uint32_t, Operator> rows_;  // by name, first seen first
};

}  // namespace

std::vector<Operator> make_operator_table(const timeline::Timeline& t) {
  return Operators(t).rows();
}

}  // namespace tta::pipeline

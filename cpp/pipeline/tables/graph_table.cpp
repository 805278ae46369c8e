// SPDX-License-Identifier: BSD-3-Clause
// pipeline/tables/graph_table.cpp: graphs and their nodes: where launched, what ran, by
// whom captured.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "graphs/join.h"
#include "pipeline/tables/tables.h"
#include "timeline/captured.h"
#include "timeline/frames.h"
#include "timeline/intervals.h"
#include "timeline/median.h"

namespace tta::pipeline {
namespace {

using timeline::Interval;
using timeline::kNoRow;
using trace::Category;

// The launch that a node has in the capture of its graph; null if none.
const timeline::CapturedLaunch* captured(const graphs::Join& join, std::size_t node) {
  if (join.capture == nullptr || join.launches[node] == kNoRow) return nullptr;
  return &join.capture->launches[join.launches[node]];
}

// torch's own word for a node, else the range around its captured launch.
std::string annotation_of(const timeline::EventArgs& args, const graphs::Join& join,
                          std::size_t node, std::uint32_t row) {
  if (!args.work(row).annotation.empty()) return args.work(row).annotation;
  const auto* launch = captured(join, node);
  return launch == nullptr || launch->annotation == kNoRow
             ? ""
             : join.capture->texts[launch->annotation];
}

// Of each node of a graph: its row in the usual replay, and its work in all.
struct NodeWork {
  std::uint32_t row = kNoRow;
  std::uint64_t count = 0;
  std::int64_t total_ns = 0;
};

std::vector<NodeWork> nodes_in(const Report& r, const graphs::Graph& graph) {
  const auto& c = r.timeline->columns();
  const auto& replays = r.graphs->replays.replays;
  const auto& usual = replays[graph.usual];
  std::vector<NodeWork> out;
  for (const auto row : usual.rows) out.push_back({row, 0, 0});
  for (const auto number : graph.replays) {
    const auto& replay = replays[number];
    const auto places = graphs::nodes_of(*r.timeline, *r.args, replay, usual);
    for (std::size_t i = 0; i < places.size(); ++i) {
      ++out[places[i]].count;
      out[places[i]].total_ns += c.dur[replay.rows[i]];
    }
  }
  return out;
}

// The place that launches a graph most often, the first of equal ones.
void set_site(const Report& r, const graphs::Graph& graph, Graph& out) {
  const auto& t = *r.timeline;
  std::vector<std::uint32_t> launches;
  for (const auto number : graph.replays) {
    launches.push_back(r.graphs->replays.replays[number].launch);
  }
  const auto frames = timeline::shared_user_frames(t, launches);
  std::map<std::uint32_t, std::size_t> counts;
  for (const auto frame : frames.of) ++counts[frame];
  std::size_t most = 0;
  for (std::size_t i = 1; i < launches.size(); ++i) {
    if (counts[frames.of[i]] > counts[frames.of[most]]) most = i;
  }
  if (frames.of[most] != kNoRow) {
    out.location = location_of(frames.frames[frames.of[most]]);
  }
  const auto op = t.owner_of(launches[most]);
  if (op != kNoRow) out.operator_ = t.trace->name(op);
  const auto range = t.tree.innermost(launches[most], [&](auto at) {
    return t.columns().cat(at) == Category::kUserAnnotation &&
           !t.trace->name(at).starts_with("ProfilerStep#");
  });
  if (range != kNoRow) out.annotation = t.trace->name(range);
}

std::int64_t median_of(const Report& r, const graphs::Graph& graph) {
  const auto& c = r.timeline->columns();
  std::vector<std::int64_t> times;
  for (const auto number : graph.replays) {
    std::vector<Interval> work;
    for (const auto row : r.graphs->replays.replays[number].rows) {
      work.push_back({c.ts[row], c.end(row)});
    }
    times.push_back(timeline::total(timeline::unite(std::move(work))));
  }
  return timeline::upper_median(times);
}

}  // namespace

std::vector<Graph> list_graphs(const Report& r) {
  std::vector<Graph> out;
  if (r.graphs == nullptr) return out;
  const auto& t = *r.timeline;
  for (std::size_t i = 0; i < r.graphs->replays.graphs.size(); ++i) {
    const auto& graph = r.graphs->replays.graphs[i];
    const auto& join = r.graphs->joins[i];
    auto& row = out.emplace_back();
    row.number = i;
    if (graph.id >= 0) row.id = graph.id;
    const auto first = r.graphs->replays.replays[graph.usual].rows.front();
    row.device = t.lanes.lanes[t.lanes.lane[first]].number;
    set_site(r, graph, row);
    row.launches = graph.replays.size();
    row.total_ns = graph.device_ns;
    row.median_ns = median_of(r, graph);
    std::map<std::string, GraphPart> parts;
    std::int64_t known = 0;
    const auto nodes = nodes_in(r, graph);
    row.nodes = nodes.size();
    for (std::size_t node = 0; node < nodes.size(); ++node) {
      const auto* launch = captured(join, node);
      if (launch != nullptr && launch->op != kNoRow) known += nodes[node].total_ns;
      auto name = annotation_of(*r.args, join, node, nodes[node].row);
      if (name.empty()) continue;
      auto& part = parts[name];
      part.name = std::move(name);
      ++part.nodes;
      part.total_ns += nodes[node].total_ns;
    }
    for (auto& [name, part] : parts) row.parts.push_back(std::move(part));
    std::ranges::stable_sort(row.parts, std::greater(), &GraphPart::total_ns);
    if (r.graphs->captured) {
      row.captured_share = row.total_ns > 0 ? static_cast<double>(known) /
                                                  static_cast<double>(row.total_ns)
                                            : 0;
    }
    row.joined_by = record::word_of(join.by);
    row.sized = join.sized;
    row.note = join.note;
    if (join.capture != nullptr) {
      row.capture = join.capture->file;
      row.batch_size = join.capture->batch_size;
      row.mode = join.capture->mode;
    }
  }
  std::ranges::stable_sort(out, std::greater(), &Graph::total_ns);
  return out;
}

std::vector<GraphNode> list_graph_nodes(const Report& r) {
  std::vector<GraphNode> out;
  if (r.graphs == nullptr) return out;
  for (std::size_t i = 0; i < r.graphs->replays.graphs.size(); ++i) {
    const auto& join = r.graphs->joins[i];
    const auto nodes = nodes_in(r, r.graphs->replays.graphs[i]);
    for (std::size_t node = 0; node < nodes.size(); ++node) {
      auto& row = out.emplace_back();
      row.graph = i;
      row.node = node;
      row.kernel = r.timeline->trace->name(nodes[node].row);
      row.annotation = annotation_of(*r.args, join, node, nodes[node].row);
      row.count = nodes[node].count;
      row.total_ns = nodes[node].total_ns;
      const auto* launch = captured(join, node);
      if (launch == nullptr) continue;
      const auto& capture = *join.capture;
      if (launch->frame != kNoRow) {
        row.location = location_of(capture.frames[launch->frame]);
      }
      if (launch->op == kNoRow) continue;
      const auto& op = capture.ops[launch->op];
      row.operator_ = capture.texts[op.name];
      if (join.sized && op.inputs != kNoRow) {
        row.inputs = sizes_text(capture.inputs[op.inputs]);
      }
    }
  }
  return out;
}

}  // namespace tta::pipeline

// SPDX-License-Identifier: BSD-3-Clause
// pipeline/quality/short_graphs.cpp: compares launches of one graph by the kernels they
// ran.
//
// A trace does not say which graph a call launched. Launches by the same call under the
// same operators and frames may be of different graphs (a model captured in pieces, or
// for several batch sizes), so fewer kernels than a neighbor mean nothing by
// themselves. But a graph runs the same kernels each time: in a sound trace sets of
// kernels repeat, in one that lost records at random hardly any does.
#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "pipeline/quality/quality.h"

namespace tta::pipeline {
namespace {

using timeline::kNoRow;

// Kernels (by name, sorted) that a launch ran.
using Kernels = std::vector<std::uint32_t>;

// Names of the call and of what is around it: all that tells graphs apart.
using NamesAbove = std::vector<std::uint32_t>;

constexpr const char* kKind = "graph_launches_few_kernels";
constexpr int kPlaceDepth = 64;            // bounds what a hostile nesting costs
constexpr std::size_t kFewLaunches = 4;    // fewer show no habit
constexpr double kMissingShare = 0.025;    // as for launches without work
constexpr std::size_t kRepeatedOften = 3;  // a set that is a graph for certain
constexpr std::size_t kMostGraphs = 16;    // of one place; bounds the comparisons

NamesAbove place_of(const timeline::Timeline& t, std::uint32_t row) {
  const auto& c = t.columns();
  NamesAbove place;
  for (int depth = 0; row != kNoRow && depth < kPlaceDepth; ++depth) {
    // Steps are numbered; their names would make each launch a place of its own.
    if (!t.trace->name(row).starts_with("ProfilerStep#")) place.push_back(c.name[row]);
    row = t.tree.parent[row];
  }
  return place;
}

// The most of each kernel that any launch ran: what the graph has at least.
std::size_t size_of_union(const std::vector<const Kernels*>& launches) {
  std::unordered_map<std::uint32_t, std::size_t> most;
  for (const auto* kernels : launches) {
    for (auto it = kernels->begin(); it != kernels->end();) {
      const auto end = std::upper_bound(it, kernels->end(), *it);
      auto& count = most[*it];
      count = std::max<std::size_t>(count, end - it);
      it = end;
    }
  }
  std::size_t size = 0;
  for (const auto& [name, count] : most) size += count;
  return size;
}

// How many launches of one place ran fewer kernels than their graph has.
std::size_t count_short(const std::vector<Kernels>& launches) {
  if (launches.size() < kFewLaunches) return 0;
  std::map<Kernels, std::size_t> sets;
  for (const auto& kernels : launches) ++sets[kernels];
  std::vector<const Kernels*> once;
  std::vector<std::pair<std::size_t, const Kernels*>> often;
  std::size_t sum = 0;
  for (const auto& [kernels, times] : sets) {
    if (times >= kRepeatedOften) often.emplace_back(times, &kernels);
    if (times > 1) continue;
    once.push_back(&kernels);
    sum += kernels.size();
  }
  std::stable_sort(often.begin(), often.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  often.resize(std::min(often.size(), kMostGraphs));
  // Records lost here and there: no two launches alike, yet all much the same.
  if (once.size() >= kFewLaunches && once.size() * 2 >= launches.size()) {
    const auto whole = size_of_union(once) * once.size();
    if (sum * 2 >= whole && share(whole - sum, whole) >= kMissingShare) {
      return once.size();
    }
  }
  // Records lost in a row: a few launches cut to less than half of a set that repeats.
  const auto is_cut = [&](const Kernels* few) {
    return std::any_of(often.begin(), often.end(), [&](const auto& graph) {
      const auto& all = *graph.second;
      return few->size() * 2 < all.size() &&
             std::includes(all.begin(), all.end(), few->begin(), few->end());
    });
  };
  const auto cut =
      static_cast<std::size_t>(std::count_if(once.begin(), once.end(), is_cut));
  return cut >= 2 ? cut : 0;  // one may be the first piece of a model
}

void note_short(Quality& q, std::uint64_t few, std::uint64_t empty, std::size_t all) {
  if (few == 0) return;
  auto text = of(few, all) +
              " graph launches ran fewer kernels than others of the same graph, ";
  if (empty > 0) text += std::to_string(empty) + " of them none: ";
  if (share(few, all) >= kLostShare) {
    add_loss(q, kKind, few,
             text +
                 "records were lost, and idle time is overstated by the work they "
                 "did.");
  } else {
    add(q, Verdict::kOk, kKind, few,
        text + "records were lost, too few to change the figures by much.");
  }
}

}  // namespace

void find_short_graphs(const timeline::Timeline& t, Quality& q) {
  const auto& c = t.columns();
  std::unordered_map<std::uint32_t, Kernels> graphs;
  std::uint64_t empty = 0;
  for (const auto& call : t.launch_calls) {
    if (t.trace->name(call.row).find("GraphLaunch") == std::string_view::npos) continue;
    graphs[call.row].reserve(call.work);
    empty += call.work == 0;
  }
  if (graphs.empty()) return;
  for (const auto& d : t.devices) {
    for (const auto row : d.rows) {
      const auto graph = graphs.find(t.launch_of(row));
      if (graph != graphs.end()) graph->second.push_back(c.name[row]);
    }
  }
  std::map<NamesAbove, std::vector<Kernels>> places;
  for (auto& [row, kernels] : graphs) {
    if (kernels.empty()) continue;
    std::sort(kernels.begin(), kernels.end());
    places[place_of(t, row)].push_back(std::move(kernels));
  }
  std::uint64_t few = empty;
  for (const auto& [place, launches] : places) few += count_short(launches);
  note_short(q, few, empty, graphs.size());
}

void find_cut_replays(const graphs::Replays& r, Quality& q) {
  const auto said = [](const Note& warning) { return warning.kind == kKind; };
  if (std::ranges::any_of(q.warnings, said)) return;
  std::uint64_t few = 0, all = 0;
  for (const auto& graph : r.graphs) {
    // Without an id, launches with other work are of other graphs.
    if (graph.id < 0 || graph.replays.size() < kFewLaunches) continue;
    std::map<std::size_t, std::size_t> sizes;
    for (const auto replay : graph.replays) ++sizes[r.replays[replay].rows.size()];
    const auto usual = std::ranges::max_element(
        sizes, {}, [](const auto& size) { return size.second; });
    all += graph.replays.size();
    // A graph with conditional nodes has no usual size.
    if (usual->second * 2 <= graph.replays.size()) continue;
    for (const auto replay : graph.replays) {
      // The last launch may have been cut by the end of the recording.
      few +=
          r.replays[replay].rows.size() < usual->first && replay + 1 < r.replays.size();
    }
  }
  note_short(q, few, 0, all);
}

}  // namespace tta::pipeline

// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/loop_indexing.cpp: a Python loop over the elements of a tensor.
//
// Each pass calls a few operators on a little data, so the calls are what takes time:
// a device idles meanwhile, and of a trace without device work it is the time spent on
// calling.
//
// Such a loop shows as the same few calls again and again under one parent, an index
// (aten::select, aten::slice) among them. The loop through a model's layers looks the
// same to the names alone; there the index stays what it is, while a loop over elements
// counts: where the file has "Concrete Inputs", they decide.
//
// A batch has one backward pass too: the nodes that all passes but one made go with the
// fix. The time claimed is that of the loop alone.
#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "patterns/device_work.h"
#include "patterns/marks.h"
#include "patterns/rule.h"
#include "patterns/thread_time.h"
#include "timeline/gradients.h"
#include "trace/args.h"

namespace tta::patterns {
namespace loop_indexing {
namespace {

enum : std::size_t {
  kMinShare,
  kMinRepeats,
  kMaxBody,
  kMinUnproven,
  kRealWork,
  kMaxPause
};
constexpr std::array kThresholds = {
    Threshold{"min_share", 0.01, "share", "1 % of the time is worth reporting"},
    Threshold{"min_repeats", 10, "count", "TorchTidy: 10 times the same operators"},
    Threshold{"max_body", 16, "count",
              "calls of one pass; layers of a model, the look-alike, have more"},
    Threshold{"min_unproven", 100, "count",
              "without Python frames and indexes in the file, layers look the same; no "
              "model has a hundred alike"},
    Threshold{
        "real_work", 20, "us",
        "calling an operator takes 1-10 µs; a longer one on the CPU would take as "
        "long in a batch"},
    Threshold{"max_pause", 200, "us",
              "Python between two operators takes less; longer is other work"},
};

using trace::Category;
using Rows = std::vector<std::uint32_t>;

// One run of a loop.
struct Loop {
  std::vector<std::uint32_t> passes;  // The first row of each pass, an index.
  std::int64_t end = 0;               // When the last pass ended.
};

// What counts as a loop.
struct LoopLimits {
  std::size_t min_passes = 2;  // At least 2.
  std::size_t max_body = 1;    // Calls of one pass.
  // Passes, where neither the indexes nor the Python function around are in the file.
  std::size_t min_unproven = 2;
};

struct Candidate {
  Loop loop;
  Rows indexes;               // the indexing rows of its first passes, pass by pass
  std::size_t index_ops = 0;  // of them, those of one pass
};

// Names of calls hold addresses ("built-in method sum of Tensor object at 0x7f..."),
// which change from pass to pass: to compare, they are cut off.
class Keys {
 public:
  explicit Keys(const trace::Trace& trace) : trace_(trace) {}
  std::uint32_t operator()(std::uint32_t row) {
    const auto id = trace_.columns.name[row];
    const auto [it, fresh] = of_name_.try_emplace(id, 0);
    if (fresh) {
      const auto name = trace_.name(row);
      const auto text = name.substr(0, name.find(" at 0x"));
      const auto next = static_cast<std::uint32_t>(of_text_.size());
      it->second = of_text_.try_emplace(text, next).first->second;
    }
    return it->second;
  }

 private:
  const trace::Trace& trace_;
  std::unordered_map<std::uint32_t, std::uint32_t> of_name_;
  std::unordered_map<std::string_view, std::uint32_t> of_text_;
};

// The children of every parent that has enough indexes among them; the roots of a
// thread count as children of one parent. In order of time.
std::vector<Rows> families(const timeline::Timeline& t, std::size_t least) {
  const auto& c = t.columns();
  const auto parent_of = [&](std::uint32_t row) {
    const auto parent = t.tree.parent[row];
    return parent != kNoRow ? std::uint64_t{parent}
                            : std::uint64_t{kNoRow} + 1 + t.lanes.lane[row];
  };
  std::unordered_map<std::uint64_t, std::size_t> indexes;
  for (std::uint32_t row = 0; row < c.size(); ++row) {
    if (c.cat(row) != Category::kCpuOp || t.lanes.lane[row] == timeline::kNoLane ||
        !t.named(row, Name::kIndexes)) {
      continue;
    }
    // An operator that indexes internally (unbind) is not a Python loop.
    const auto parent = t.tree.parent[row];
    if (parent != kNoRow && c.cat(parent) == Category::kCpuOp &&
        t.named(parent, Name::kNamespaced)) {
      continue;
    }
    ++indexes[parent_of(row)];
  }
  std::unordered_map<std::uint64_t, std::size_t> place;
  std::vector<Rows> out;
  for (const auto& lane : t.lanes.threads()) {
    for (const auto row : t.lanes.rows_of(lane)) {
      const auto cat = c.cat(row);
      if (cat != Category::kCpuOp && cat != Category::kPythonFunction &&
          cat != Category::kUserAnnotation) {
        continue;
      }
      const auto found = indexes.find(parent_of(row));
      if (found == indexes.end() || found->second < least) continue;
      const auto [it, fresh] = place.try_emplace(found->first, out.size());
      if (fresh) out.emplace_back();
      out[it->second].push_back(row);
    }
  }
  return out;
}

// The loops among siblings, those of the shortest bodies first. O(max_body) a sibling.
void add_loops(const timeline::Timeline& t, const Rows& rows, std::size_t least,
               std::size_t longest, Keys& keys, std::vector<Candidate>& out) {
  std::vector<std::uint32_t> key;
  for (const auto row : rows) key.push_back(keys(row));
  std::vector<char> taken(rows.size(), 0);
  // Siblings [first, last) repeat every `body` of them.
  const auto add = [&](std::size_t first, std::size_t last, std::size_t body) {
    while (first < last && !t.named(rows[first], Name::kIndexes)) ++first;
    const auto passes = (last - first) / body;
    if (passes < least) return;
    last = first + passes * body;
    Candidate found;
    for (auto i = first; i < last; ++i) {
      taken[i] = 1;
      if ((i - first) % body == 0) found.loop.passes.push_back(rows[i]);
      if (i < first + 10 * body && t.named(rows[i], Name::kIndexes)) {
        found.indexes.push_back(rows[i]);
        found.index_ops += i < first + body;
      }
    }
    found.loop.end = t.columns().end(rows[last - 1]);
    out.push_back(std::move(found));
  };
  for (std::size_t body = 1; body <= longest && body < rows.size(); ++body) {
    std::size_t first = 0;
    for (std::size_t i = 0; i + body <= rows.size(); ++i) {
      if (i + body < rows.size() && key[i] == key[i + body] && !taken[i] &&
          !taken[i + body]) {
        continue;
      }
      if (i > first) add(first, i + body, body);
      first = i + 1;
    }
  }
}

// Drops loops whose indexes are known and never change, and those of which nothing is
// known but their names, unless no model has as many layers. One pass over the file.
void drop_unproven(const timeline::Timeline& t, std::size_t min_unproven,
                   std::vector<Candidate>& loops) {
  Rows rows;
  for (const auto& loop : loops) {
    rows.insert(rows.end(), loop.indexes.begin(), loop.indexes.end());
  }
  const auto args = t.trace->read_args(rows);
  std::size_t at = 0;
  std::erase_if(loops, [&](const Candidate& loop) {
    bool known = false, changes = false;
    for (std::size_t i = 0; i < loop.indexes.size(); ++i) {
      const auto of = [&](std::size_t k) {
        return trace::raw_arg(args[at + k], "Concrete Inputs");
      };
      known |= !of(i).empty();
      changes |= of(i) != of(i % loop.index_ops);
    }
    at += loop.indexes.size();
    if (known) return !changes;
    const auto parent = t.tree.parent[loop.loop.passes.front()];
    const bool framed =
        t.tree.enclosing(t.columns(), parent, Category::kPythonFunction) != kNoRow;
    return !framed && loop.loop.passes.size() < min_unproven;
  });
}

// Finds the loops of all threads. Time: `max_body` times the siblings of indexes; and
// one pass over the file if there are candidates. Throws what Trace::read_args throws.
std::vector<Loop> find_loops(const timeline::Timeline& t, const LoopLimits& limits) {
  const auto least = std::max<std::size_t>(2, limits.min_passes);
  Keys keys(*t.trace);
  std::vector<Candidate> found;
  for (const auto& rows : families(t, least)) {
    add_loops(t, rows, least, limits.max_body, keys, found);
  }
  if (!found.empty()) drop_unproven(t, limits.min_unproven, found);
  std::vector<Loop> out;
  for (auto& f : found) out.push_back(std::move(f.loop));
  return out;
}

// Of a kernel's time, what it takes with nothing to do: 1.5-2.5 us on every device seen
// (as empty_kernel of unfused_optimizer). In a batch its work is still to be done.
double starting_share(const timeline::Timeline& t, std::uint32_t kernel) {
  constexpr double kEmptyKernel = 1500;
  const auto length = static_cast<double>(t.columns().dur[kernel]);
  return std::min(0.999, kEmptyKernel / std::max(1.0, length));
}

// A node of the backward pass, with the engine's own time until the next one.
Interval node_time(const timeline::Timeline& t, std::uint32_t node,
                   std::int64_t max_pause) {
  const auto& c = t.columns();
  const Interval own{c.ts[node], t.tree.end(c, node)};
  const auto rows = t.lanes.rows_of(t.lanes.lane[node]);
  const auto begin = [&](std::uint32_t row) { return c.ts[row]; };
  const auto next = std::ranges::lower_bound(rows, own.end, {}, begin);
  if (next == rows.end() || c.ts[*next] > own.end + max_pause) return own;
  return {own.begin, c.ts[*next]};
}

// What goes of a node that one pass of a loop made. The gradient of an index is as
// large as the whole tensor, and is filled and added up once a pass: a batch has none
// of it.
IntervalSet backward_time(const timeline::Timeline& t, std::uint32_t node,
                          Interval time, std::int64_t real_work,
                          std::int64_t max_pause) {
  const auto name = t.trace->name(node);
  const bool indexes = name.find("SelectBackward") != name.npos ||
                       name.find("SliceBackward") != name.npos;
  if (indexes) return {time};
  return calling_time(t, t.lanes.lane[node], time, real_work, max_pause);
}

std::vector<Claim> propose(const Context& context) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  const auto count = [&](std::size_t i) {
    return static_cast<std::size_t>(std::min(context.limits[i], 1e9));
  };
  auto loops =
      find_loops(t, {count(kMinRepeats), count(kMaxBody), count(kMinUnproven)});
  if (loops.empty()) return {};
  // With a device, an operator's time on the host is spent calling, however long.
  const auto real_work = t.host ? context.limits.ns(kRealWork) : trace::kTimeLimit;
  const auto max_pause = context.limits.ns(kMaxPause);
  std::stable_sort(loops.begin(), loops.end(), [&](const Loop& a, const Loop& b) {
    return c.ts[a.passes[0]] < c.ts[b.passes[0]];
  });
  std::map<std::uint32_t, std::int64_t> reached;  // on each thread
  const auto& launched = launched_work(context);
  const timeline::Gradients gradients(t);
  std::vector<Mark> marks, sites;
  for (const auto& loop : loops) {
    // A loop inside a loop is part of it.
    const auto lane = t.lanes.lane[loop.passes[0]];
    const auto [it, first] = reached.try_emplace(lane, loop.end);
    if (!first && c.ts[loop.passes[0]] < it->second) continue;
    it->second = loop.end;
    for (std::size_t i = 0; i < loop.passes.size(); ++i) {
      const auto row = loop.passes[i];
      const auto end = i + 1 < loop.passes.size() ? c.ts[loop.passes[i + 1]] : loop.end;
      for (const auto& part :
           calling_time(t, lane, {c.ts[row], end}, real_work, max_pause)) {
        marks.push_back({part, row, 0});
        if (i > 0) sites.push_back(marks.back());  // one pass for all is left
      }
      if (i == 0) continue;
      const auto add_work = [&](std::uint32_t thread, Interval time) {
        for (const auto& work : launched.in(thread, time)) {
          sites.push_back({{}, row, 0, work.row, starting_share(t, work.row)});
        }
      };
      add_work(lane, {c.ts[row], end});
      for (const auto node : gradients.backward_of(lane, {c.ts[row], end})) {
        const auto time = node_time(t, node, max_pause);
        for (const auto& part : backward_time(t, node, time, real_work, max_pause)) {
          sites.push_back({part, node, 0, kNoRow, 1, row});
        }
        add_work(t.lanes.lane[node], time);
      }
    }
  }
  auto claims = claim_marks(context, PatternId::kLoopIndexing, std::move(marks));
  note_sites(context, PatternId::kLoopIndexing, std::move(sites));
  return claims;
}

std::string describe(const Context& context, const Finding& f) {
  const auto& t = context.timeline;
  return "A Python loop went through the elements of a tensor " +
         count_text(f.count, "time", "times") + " (" +
         std::string(t.trace->name(f.events.front())) + "): " +
         (t.host ? "calling its operators took " + duration_text(f.wasted_ns) + "."
                 : devices_text(f, false) + " idled " + duration_text(f.wasted_ns) +
                       " meanwhile.");
}

}  // namespace
}  // namespace loop_indexing

const Rule kLoopIndexingRule{PatternId::kLoopIndexing, loop_indexing::kThresholds,
                             loop_indexing::propose, loop_indexing::describe};

}  // namespace tta::patterns

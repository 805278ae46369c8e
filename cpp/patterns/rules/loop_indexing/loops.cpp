// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/loop_indexing/loops.cpp: looks for repetition among siblings.
#include "patterns/rules/loop_indexing/loops.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "trace/args.h"

namespace tta::patterns {
namespace {

using timeline::kNoRow;
using trace::Category;
using Rows = std::vector<std::uint32_t>;

bool is_index(std::string_view name) {
  return name == "aten::select" || name == "aten::slice";
}

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
        !is_index(t.trace->name(row))) {
      continue;
    }
    // An operator that indexes for itself (unbind) is no Python loop.
    const auto parent = t.tree.parent[row];
    if (parent != kNoRow && c.cat(parent) == Category::kCpuOp &&
        t.trace->name(parent).find("::") != std::string_view::npos) {
      continue;
    }
    ++indexes[parent_of(row)];
  }
  std::unordered_map<std::uint64_t, std::size_t> place;
  std::vector<Rows> out;
  for (const auto& lane : t.lanes.lanes) {
    if (lane.is_stream) continue;
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
    while (first < last && !is_index(t.trace->name(rows[first]))) ++first;
    const auto passes = (last - first) / body;
    if (passes < least) return;
    last = first + passes * body;
    Candidate found;
    for (auto i = first; i < last; ++i) {
      taken[i] = 1;
      if ((i - first) % body == 0) found.loop.passes.push_back(rows[i]);
      if (i < first + 10 * body && is_index(t.trace->name(rows[i]))) {
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

}  // namespace

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

}  // namespace tta::patterns

// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/loop_indexing.cpp: a Python loop over the elements of a tensor.
//
// Such a loop shows as the same few calls again and again under one parent, an index
// (aten::select, aten::slice) among them. The loop through a model's layers looks the
// same to the names alone; there the index stays what it is, while a loop over elements
// counts: where the file has "Concrete Inputs", they decide.
#include <algorithm>
#include <array>
#include <unordered_map>

#include "patterns/host_ops.h"
#include "patterns/marks.h"
#include "patterns/rule.h"
#include "trace/args.h"

namespace tta::patterns {
namespace {

enum : std::size_t { kMinShare, kMinRepeats, kMaxBody, kRealWork, kMaxPause };
constexpr std::array kThresholds = {
    Threshold{"min_share", 0.01, "share", "a hundredth of the time is worth a line"},
    Threshold{"min_repeats", 10, "count", "TorchTidy: 10 times the same operators"},
    Threshold{"max_body", 16, "count",
              "calls of one pass; layers of a model, the look-alike, have more"},
    Threshold{"real_work", 20, "us",
              "calling an operator takes 1-10 us; one on the CPU that works for longer "
              "would have to do so in a batch as well"},
    Threshold{"max_pause", 200, "us",
              "Python between two operators takes less; longer is other work"},
};

using trace::Category;
using Rows = std::vector<std::uint32_t>;

bool is_index(std::string_view name) {
  return name == "aten::select" || name == "aten::slice";
}

// One run of a loop: the first row of each pass, and when the last one ended.
struct Loop {
  Rows passes;
  Rows indexes;               // the indexing rows of its first passes, pass by pass
  std::size_t index_ops = 0;  // of them, those of one pass
  std::int64_t end = 0;
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
std::vector<Loop> loops_in(const Context& context, const Rows& rows, Keys& keys) {
  const auto& t = context.timeline;
  const auto least = static_cast<std::size_t>(context.limits[kMinRepeats]);
  const auto longest = static_cast<std::size_t>(context.limits[kMaxBody]);
  std::vector<std::uint32_t> key;
  for (const auto row : rows) key.push_back(keys(row));
  std::vector<char> taken(rows.size(), 0);
  std::vector<Loop> out;
  // Siblings [first, last) repeat every `body` of them.
  const auto add = [&](std::size_t first, std::size_t last, std::size_t body) {
    while (first < last && !is_index(t.trace->name(rows[first]))) ++first;
    const auto passes = (last - first) / body;
    if (passes < std::max<std::size_t>(2, least)) return;
    last = first + passes * body;
    Loop loop;
    for (auto i = first; i < last; ++i) {
      taken[i] = 1;
      if ((i - first) % body == 0) loop.passes.push_back(rows[i]);
      if (i < first + 10 * body && is_index(t.trace->name(rows[i]))) {
        loop.indexes.push_back(rows[i]);
        loop.index_ops += i < first + body;
      }
    }
    loop.end = t.columns().end(rows[last - 1]);
    out.push_back(std::move(loop));
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
  return out;
}

// Drops loops whose indexes are known and never change. One pass over the file.
void drop_constant(const timeline::Timeline& t, std::vector<Loop>& loops) {
  Rows rows;
  for (const auto& loop : loops) {
    rows.insert(rows.end(), loop.indexes.begin(), loop.indexes.end());
  }
  const auto args = t.trace->read_args(rows);
  std::size_t at = 0;
  std::erase_if(loops, [&](const Loop& loop) {
    bool known = false, changes = false;
    for (std::size_t i = 0; i < loop.indexes.size(); ++i) {
      const auto of = [&](std::size_t k) {
        return trace::raw_arg(args[at + k], "Concrete Inputs");
      };
      known |= !of(i).empty();
      changes |= of(i) != of(i % loop.index_ops);
    }
    at += loop.indexes.size();
    return known && !changes;
  });
}

std::vector<Claim> propose(const Context& context) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  const auto least = static_cast<std::size_t>(context.limits[kMinRepeats]);
  Keys keys(*t.trace);
  std::vector<Loop> loops;
  for (const auto& rows : families(t, least)) {
    auto found = loops_in(context, rows, keys);
    std::move(found.begin(), found.end(), std::back_inserter(loops));
  }
  if (loops.empty()) return {};
  drop_constant(t, loops);
  // With a device, an operator's time on the host is spent calling, however long.
  const auto real_work = t.host ? context.limits.ns(kRealWork) : trace::kTimeLimit;
  std::vector<Mark> marks;
  for (const auto& loop : loops) {
    for (std::size_t i = 0; i < loop.passes.size(); ++i) {
      const auto row = loop.passes[i];
      const auto end = i + 1 < loop.passes.size() ? c.ts[loop.passes[i + 1]] : loop.end;
      for (const auto& part : calling_time(t, t.lanes.lane[row], {c.ts[row], end},
                                           real_work, context.limits.ns(kMaxPause))) {
        marks.push_back({part, row, 0});
      }
    }
  }
  return claim_marks(context, PatternId::kLoopIndexing, std::move(marks));
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

const Rule kLoopIndexingRule{PatternId::kLoopIndexing, kThresholds, propose, describe};

}  // namespace tta::patterns

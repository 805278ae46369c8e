// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/graph_break.cpp: what runs between the compiled graphs of one call.
//
// Where the graph of a compiled function breaks, torch runs the compiled piece, then
// the breaking code eagerly, then a function compiled for the rest ("resume"). In a
// trace that rest is a region inside the region it continues; two functions that were
// compiled separately never nest like that. Where a whole frame was left to Python, the
// regions below it lie side by side inside one call of the compiled function, which
// only its Python frame shows.
#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "patterns/marks.h"
#include "patterns/rule.h"

namespace tta::patterns {
namespace graph_break {
namespace {

enum : std::size_t { kMinShare };
constexpr std::array kThresholds = {
    Threshold{"min_share", 0.01, "share", "1 % of the time is worth reporting"},
};

using timeline::FileOwner;
using trace::Category;

class Breaks {
 public:
  explicit Breaks(const timeline::Timeline& t) : t_(t), c_(t.columns()) {}

  std::vector<Mark> list() {
    own_code_.assign(c_.size(), 0);
    for (const auto& lane : t_.lanes.threads()) read(t_.lanes.rows_of(lane));
    return std::move(marks_);
  }

 private:
  std::string_view name(std::uint32_t row) const { return t_.trace->name(row); }
  bool is_frame(std::uint32_t row) const {
    return c_.cat(row) == Category::kPythonFunction;
  }

  bool is_wrapper(std::uint32_t row) const {
    return is_frame(row) && t_.named(row, Name::kDynamoWrapper);
  }

  void read(std::span<const std::uint32_t> rows) {
    bool frames = false;
    std::map<std::uint32_t, std::size_t> left;  // holder: where its last region ended
    for (const auto row : rows) {
      if (!is_frame(row)) continue;
      frames = true;
      const auto caller = t_.tree.parent[row];
      if (caller == kNoRow || !is_wrapper(caller)) continue;
      const auto frame = timeline::parse_frame(name(row));
      if (frame && timeline::owner_of_file(frame->file) != FileOwner::kTorch) {
        own_code_[caller] = 1;
      }
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (c_.cat(rows[i]) != Category::kCpuOp || !t_.named(rows[i], Name::kRegion)) {
        continue;
      }
      const auto holder = holder_of(rows[i]);
      if (holder == kNoRow) continue;
      const auto [last, first] = left.try_emplace(holder, i);
      // Up to the first region: the holder's own graph, if it is a region itself.
      if (!first || c_.cat(holder) == Category::kCpuOp) {
        const auto after = first ? holder : rows[last->second];
        const auto from = first ? c_.ts[holder] : c_.end(after);
        read_island(rows, i, from, after, frames, first);
      }
      last->second = i;
    }
  }

  // The region that this one continues, or the call of a compiled function that holds
  // it; none if it stands alone or is part of an operator's own implementation.
  std::uint32_t holder_of(std::uint32_t row) const {
    std::uint32_t call = kNoRow;
    for (const auto at : t_.tree.above(row)) {
      if (c_.cat(at) == Category::kCpuOp) {
        return t_.named(at, Name::kRegion) ? at : kNoRow;
      }
      if (is_frame(at) && t_.named(at, Name::kCompiledCall)) call = at;
    }
    return call;
  }

  // Marks the eager time that ends with the region rows[i] and begins after the last
  // compiled piece since `from`, in rows that come behind the row `after`: by time
  // alone, regions of no length would each go through all before them.
  void read_island(std::span<const std::uint32_t> rows, std::size_t i,
                   std::int64_t from, std::uint32_t after, bool frames,
                   bool needs_graph) {
    Interval island{from, c_.ts[rows[i]]};
    auto first = i;  // of the rows that start in it
    while (first > 0 && rows[first - 1] != after && c_.ts[rows[first - 1]] >= from) {
      --first;
    }
    std::vector<Interval> compiling;
    bool graph = false;
    for (const auto row : rows.subspan(first, i - first)) {
      const auto end = t_.tree.end(c_, row);
      if (end > island.end) continue;
      if (c_.cat(row) == Category::kCpuOp && t_.named(row, Name::kDynamo)) {
        compiling.push_back({c_.ts[row], end});
      } else if (runs_graph(row)) {
        island.begin = std::max(island.begin, end);
        graph = true;
      }
    }
    if (needs_graph && !graph) {
      if (frames) return;  // they would show it
      island.begin = tail(rows, first, i);
    }
    const auto evidence = resumed(rows, i);
    for (const auto& part :
         timeline::subtract({island}, timeline::unite(std::move(compiling)))) {
      marks_.push_back({part, evidence});
    }
  }

  // Tells whether a row is a call of a compiled graph: inductor's or autograd's own
  // range, or dynamo's wrapper around one. The same wrapper runs functions kept out of
  // the graph by torch.compiler.disable; these are someone's own code.
  bool runs_graph(std::uint32_t row) const {
    if (c_.cat(row) == Category::kCpuOp) {
      return t_.named(row, Name::kGraphCall) || name(row) == "CompiledFunction";
    }
    return is_wrapper(row) && !own_code_[row];
  }

  // Without a sign of the graph's end: what surely is not part of it.
  std::int64_t tail(std::span<const std::uint32_t> rows, std::size_t first,
                    std::size_t i) const {
    auto begin = c_.ts[rows[i]];
    for (auto at = i; at > first && t_.named(rows[at - 1], Name::kBreaksGraph); --at) {
      begin = c_.ts[rows[at - 1]];
    }
    return begin;
  }

  // The frame of the function that goes on after the break: its line is the break's.
  std::uint32_t resumed(std::span<const std::uint32_t> rows, std::size_t i) const {
    if (i + 1 < rows.size() && t_.tree.parent[rows[i + 1]] == rows[i] &&
        is_frame(rows[i + 1]) && t_.named(rows[i + 1], Name::kResumes)) {
      return rows[i + 1];
    }
    return rows[i];
  }

  const timeline::Timeline& t_;
  const trace::Columns& c_;
  std::vector<char> own_code_;  // of wrappers: not around a graph
  std::vector<Mark> marks_;
};

std::vector<Claim> propose(const Context& context) {
  return claim_marks(context, PatternId::kGraphBreak, Breaks(context.timeline).list());
}

std::string describe(const Context& context, const Finding& f) {
  const bool on_host = static_cast<bool>(context.timeline.host);
  return "The compiled code was left " + count_text(f.count, "time", "times") +
         " in the middle of a call: " +
         (on_host ? "" : devices_text(f, false) + " idled for ") +
         duration_text(f.wasted_ns) + (on_host ? " went into" : " during") +
         " eager code and guard checks before the next compiled piece.";
}

}  // namespace
}  // namespace graph_break

const Rule kGraphBreakRule{PatternId::kGraphBreak, graph_break::kThresholds,
                           graph_break::propose, graph_break::describe};

}  // namespace tta::patterns

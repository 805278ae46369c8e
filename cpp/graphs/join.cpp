// SPDX-License-Identifier: BSD-3-Clause
// graphs/join.cpp: candidates for each graph, the best of them, and its rows.
#include "graphs/join.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "graphs/align.h"
#include "graphs/candidate.h"
#include "graphs/read_capture.h"

namespace tta::graphs {
namespace {

using timeline::Capture;
using timeline::CapturedLaunch;
using timeline::Name;
using Kind = CapturedLaunch::Kind;

// Places in one capture with the same run that are compared: enough for the layers of a
// model whose pieces are graphs.
constexpr std::uint32_t kMostPlaces = 64;

class Joiner {
 public:
  Joiner(const timeline::Timeline& t, const timeline::EventArgs& args,
         const Replays& replays,
         const std::vector<std::shared_ptr<const Capture>>& captures, bool all_read)
      : t_(t),
        args_(args),
        replays_(replays),
        captures_(captures),
        all_read_(all_read) {
    std::unordered_map<std::string_view, std::uint32_t> ids;  // Beyond the trace's own.
    for (std::size_t i = 0; i < captures.size(); ++i) {
      for (std::uint32_t from = 0; const auto end : captures[i]->run_ends) {
        add_run(i, from, end, ids);
        from = end;
      }
    }
  }

  std::vector<Join> run() {
    const auto& graphs = replays_.graphs;
    std::vector<Join> out(graphs.size());
    std::vector<std::uint32_t> order(graphs.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::greater(),
                             [&](auto i) { return graphs[i].device_ns; });
    for (auto i = std::min(order.size(), kMostGraphs); i < order.size(); ++i) {
      out[order[i]].note = "it is not among the " + std::to_string(kMostGraphs) +
                           " graphs with most work";
    }
    order.resize(std::min(order.size(), kMostGraphs));
    std::vector<std::vector<std::uint32_t>> names;
    std::vector<Sequence> patterns;
    for (const auto i : order) names.push_back(names_of(graphs[i]));
    patterns.assign(names.begin(), names.end());
    const auto found = find_all(patterns);
    for (std::size_t i = 0; i < order.size(); ++i) {
      out[order[i]] = join(graphs[order[i]], patterns[i], found[i]);
    }
    return out;
  }

 private:
  // A stretch of text_ that may be aligned.
  struct Option {
    std::size_t capture, begin, end, alike;
  };

  static constexpr std::uint32_t kGap = kNoRow;  // Between runs: no name.

  void add_run(std::size_t capture, std::uint32_t from, std::uint32_t end,
               std::unordered_map<std::string_view, std::uint32_t>& ids) {
    const auto& of = *captures_[capture];
    const auto own = static_cast<std::uint32_t>(t_.trace->strings.size());
    Run run{capture, from, end, {}};
    bool named = true;
    for (auto i = from; i < end; ++i) {
      named = named && of.launches[i].name != kNoRow;
      ++run.counts[static_cast<std::size_t>(of.launches[i].kind)];
    }
    if (from == end) return;
    if (!named) {
      nameless_.push_back(run);
      counts_.insert(run.counts[0]);
      return;
    }
    for (auto i = from; i < end; ++i) {
      const auto& name = of.texts[of.launches[i].name];
      const auto in_trace = t_.trace->strings.find(name);
      const auto next = own + static_cast<std::uint32_t>(ids.size());
      text_.push_back(in_trace >= 0 ? static_cast<std::uint32_t>(in_trace)
                                    : ids.try_emplace(name, next).first->second);
      where_.emplace_back(static_cast<std::uint32_t>(capture), i);
    }
    text_.push_back(kGap);
    where_.emplace_back(static_cast<std::uint32_t>(capture), from);
  }

  const std::vector<std::uint32_t>& rows_of(const Graph& graph) const {
    return replays_.replays[graph.usual].rows;
  }

  std::vector<std::uint32_t> names_of(const Graph& graph) const {
    std::vector<std::uint32_t> out;
    for (const auto row : rows_of(graph)) out.push_back(t_.columns().name[row]);
    return out;
  }

  // Of each pattern the places of equal runs, at most kMostPlaces in a capture.
  std::vector<std::vector<std::size_t>> find_all(
      const std::vector<Sequence>& patterns) {
    std::vector<std::vector<std::size_t>> out(patterns.size());
    std::vector<std::pair<std::uint32_t, std::uint32_t>> last(patterns.size());
    complete_ = find_runs(text_, patterns, effort_, [&](std::size_t i, std::size_t at) {
      auto& [capture, count] = last[i];
      if (where_[at].first != std::exchange(capture, where_[at].first)) count = 0;
      const auto& pattern = patterns[i];
      if (++count > kMostPlaces || !effort_.take(pattern.size())) return;
      if (std::ranges::equal(pattern, Sequence(text_).subspan(at, pattern.size()))) {
        out[i].push_back(at);
      }
    });
    return out;
  }

  Join join(const Graph& graph, Sequence pattern,
            const std::vector<std::size_t>& runs) {
    std::vector<Candidate> candidates;
    for (const auto at : runs) {
      Candidate run{where_[at].first, {}};
      for (std::size_t i = 0; i < pattern.size(); ++i) {
        run.launches.push_back(where_[at + i].second);
      }
      candidates.push_back(std::move(run));
    }
    if (!candidates.empty()) return choose(graph, JoinedBy::kSequence, candidates);
    Join out;
    candidates = by_count(graph, out.note);
    if (!candidates.empty()) return choose(graph, JoinedBy::kCount, candidates);
    return by_alignment(graph, pattern, std::move(out.note));
  }

  static Kind kind_of(const timeline::Timeline& t, std::uint32_t row) {
    if (t.columns().cat(row) == trace::Category::kGpuMemset) return Kind::kSet;
    return t.is_copy(row) ? Kind::kCopy : Kind::kKernel;
  }

  // Captures without names with as many kernels; copies and memsets where they are as
  // many, too.
  std::vector<Candidate> by_count(const Graph& graph, std::string& note) {
    const auto& rows = rows_of(graph);
    std::array<std::vector<std::size_t>, 3> nodes;
    std::set<std::pair<std::int64_t, std::int64_t>> streams;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      nodes[static_cast<std::size_t>(kind_of(t_, rows[i]))].push_back(i);
      streams.emplace(t_.columns().pid[rows[i]], t_.columns().tid[rows[i]]);
    }
    std::vector<Candidate> out;
    for (const auto& [capture, from, end, counts] : nameless_) {
      if (nodes[0].empty() || counts[0] != nodes[0].size()) continue;
      if (!effort_.take(end - from)) break;
      std::array<std::vector<std::uint32_t>, 3> launches;
      for (auto i = from; i < end; ++i) {
        const auto kind = captures_[capture]->launches[i].kind;
        launches[static_cast<std::size_t>(kind)].push_back(i);
      }
      Candidate one{capture, std::vector<std::uint32_t>(rows.size(), kNoRow)};
      for (std::size_t kind = 0; kind < 3; ++kind) {
        if (launches[kind].size() != nodes[kind].size()) continue;
        for (std::size_t i = 0; i < nodes[kind].size(); ++i) {
          one.launches[nodes[kind][i]] = launches[kind][i];
        }
      }
      out.push_back(std::move(one));
    }
    if (!out.empty() && streams.size() > 1) {
      note = "its kernels ran on " + std::to_string(streams.size()) +
             " streams, and the captured calls name none: their order is unknown";
      out.clear();
    } else if (out.empty() && !counts_.empty()) {
      note = "it has " + std::to_string(nodes[0].size()) + " kernels; captured were ";
      std::size_t listed = 0;
      for (const auto count : counts_) {
        if (listed++ == 5) {
          note += " ...";
          break;
        }
        note += (listed > 1 ? ", " : "") + std::to_string(count);
      }
    }
    return out;
  }

  // Stretches of captures that share most kernels with a graph, and of these most
  // grids; one is aligned.
  Join by_alignment(const Graph& graph, Sequence pattern, std::string note) {
    const auto none = [&](const std::string& why) {
      return Join{JoinedBy::kNone, nullptr, {}, false, note.empty() ? why : note};
    };
    if (!complete_ || !effort_.take(text_.size())) {
      return none("the captures are too long to compare");
    }
    std::vector<Option> options;
    std::size_t most = 0;
    for (std::size_t from = 0, end = 0; from < text_.size(); from = end) {
      while (end < text_.size() && where_[end].first == where_[from].first) ++end;
      auto window = best_window(Sequence(text_).subspan(from, end - from), pattern);
      if (window.shared == 0 || window.shared < most) continue;
      if (window.shared > std::exchange(most, window.shared)) options.clear();
      options.push_back(
          {where_[from].first, from + window.begin, from + window.end, 0});
    }
    const auto least = kLeastAligned * static_cast<double>(pattern.size());
    const auto of = " of " + std::to_string(pattern.size());
    if (static_cast<double>(most) < least) {
      return none("no capture has its kernels: at most " + std::to_string(most) + of);
    }
    keep_grids(graph, options);
    if (options.size() > 1) keep_batch(graph, options);
    const auto& best = options.front();
    const auto text = Sequence(text_).subspan(best.begin, best.end - best.begin);
    const auto cells = text.size() * pattern.size();
    if (cells > kMostCells || !effort_.take(cells)) {
      return none("no capture has the same kernels, and it is too long to align");
    }
    Candidate out{best.capture, {}};
    for (const auto at : align(text, pattern)) {
      out.launches.push_back(at == kNoRow ? kNoRow : where_[best.begin + at].second);
    }
    const auto found =
        out.launches.size() -
        static_cast<std::size_t>(std::ranges::count(out.launches, kNoRow));
    if (static_cast<double>(found) < least) {
      return none("no capture has its kernels in this order: " + std::to_string(found) +
                  of);
    }
    auto join = choose(graph, JoinedBy::kAlignment, {std::move(out)});
    // Without grids, another stretch of the same kernels is not excluded.
    const bool certain =
        best.alike > 0 || (options.size() == 1 && captures_[best.capture]->batch_size);
    join.sized = join.sized && certain;
    if (!certain) join.note += "; of which size is unknown";
    return join;
  }

  // Leaves those with most work of the same names and grids, in any order.
  void keep_grids(const Graph& graph, std::vector<Option>& options) {
    std::map<Token, std::int64_t> nodes;
    for (const auto row : rows_of(graph)) {
      const auto token = token_of(t_, args_, row);
      if (token[1] >= 0) ++nodes[token];
    }
    std::size_t most = 0;
    for (auto& option : options) {
      if (!effort_.take(option.end - option.begin)) break;
      auto left = nodes;
      for (auto at = option.begin; at < option.end; ++at) {
        const auto& launch = captures_[option.capture]->launches[where_[at].second];
        const auto it = left.find({text_[at], launch.grid, launch.block});
        if (it != left.end() && it->second-- > 0) ++option.alike;
      }
      most = std::max(most, option.alike);
    }
    std::erase_if(options, [&](const Option& option) { return option.alike < most; });
  }

  void compare_grids(const Graph& graph, Candidate& run) const {
    const auto& rows = rows_of(graph);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (run.launches[i] == kNoRow) continue;
      const auto& launch = captures_[run.capture]->launches[run.launches[i]];
      const auto& work = args_.work(rows[i]);
      if (launch.grid < 0 || work.grid_shape < 0) continue;
      ++run.known;
      run.alike += launch.grid == work.grid_shape && launch.block == work.block_shape;
    }
  }

  // The least size of some that holds a batch, as engines pad; that of none if none
  // does.
  template <typename Choice, typename SizeOf>
  static std::int64_t least_holding(std::int64_t batch,
                                    const std::vector<Choice>& choices,
                                    SizeOf size_of) {
    auto least = std::numeric_limits<std::int64_t>::max();
    for (const auto& one : choices) {
      if (size_of(one) >= batch) least = std::min(least, size_of(one));
    }
    return least;
  }

  // The batch that the range around the first launch names, as far as captures have
  // sizes.
  template <typename Choice>
  void keep_batch(const Graph& graph, std::vector<Choice>& candidates) const {
    const auto batch = batch_around(t_, replays_.replays[graph.replays.front()].launch);
    if (batch < 0) return;
    const auto size_of = [&](const Choice& run) {
      return captures_[run.capture]->batch_size.value_or(0);
    };
    const auto least = least_holding(batch, candidates, size_of);
    const auto other = [&](const Choice& run) {
      return captures_[run.capture]->batch_size != least;
    };
    if (!std::ranges::all_of(candidates, other)) std::erase_if(candidates, other);
  }

  // Whether a capture is of the trace itself, or of the least of all captured batches
  // that holds the one around the launch.
  bool is_next_batch(std::int64_t batch, const Capture& capture) const {
    if (capture.file.empty()) return true;
    if (!all_read_ || batch < 0) return false;
    const auto size_of = [](const auto& one) { return one->batch_size.value_or(0); };
    const auto least = least_holding(batch, captures_, size_of);
    return capture.batch_size == least;
  }

  Join choose(const Graph& graph, JoinedBy by, std::vector<Candidate> candidates) {
    for (auto& run : candidates) compare_grids(graph, run);
    const auto alike = std::ranges::max(candidates, {}, &Candidate::alike).alike;
    std::erase_if(candidates, [&](const Candidate& run) { return run.alike < alike; });
    if (candidates.size() > 1) keep_batch(graph, candidates);
    auto& best = candidates.front();
    Join out{by, captures_[best.capture], std::move(best.launches), true, ""};
    if (static_cast<double>(best.alike) <
        kLeastAlike * static_cast<double>(best.known)) {
      out.sized = false;
      out.note = "captured with other sizes: " + std::to_string(best.alike) + " of " +
                 std::to_string(best.known) + " grids are the same";
      return out;
    }
    best.launches = out.launches;
    auto common = Calls::kSame;
    for (std::size_t i = 1; i < candidates.size(); ++i) {
      const auto other = effort_.take(best.launches.size())
                             ? compare_calls(captures_, best, candidates[i])
                             : Calls::kOtherSizes;
      common = std::max(common, other);
    }
    // Names prove the operators of a run; a count proves no more than it says.
    if (common == Calls::kOtherOperators ||
        (common == Calls::kOtherSizes && by == JoinedBy::kCount)) {
      return {JoinedBy::kNone,
              nullptr,
              {},
              false,
              std::string("launches of several operators have ") +
                  (by == JoinedBy::kCount ? "as many kernels" : "the same kernels")};
    }
    out.sized = common == Calls::kSame;
    if (!out.sized) out.note = "captures of several sizes have the same kernels";
    const auto batch = batch_around(t_, replays_.replays[graph.replays.front()].launch);
    if (out.sized && out.capture->batch_size.value_or(batch) < batch) {
      out.sized = false;
      out.note = "captured for a batch of " + std::to_string(*out.capture->batch_size) +
                 ", and launched for " + std::to_string(batch);
    } else if (out.sized && by == JoinedBy::kCount &&
               !is_next_batch(batch, *out.capture)) {
      out.sized = false;
      out.note = "joined by the number of its kernels: of which size is unknown";
    }
    const auto missing = std::ranges::count(out.launches, kNoRow);
    if (missing > 0) {
      out.note =
          std::to_string(out.launches.size() - static_cast<std::size_t>(missing)) +
          " of " + std::to_string(out.launches.size()) + " nodes are captured";
    }
    return out;
  }

  struct Run {
    std::size_t capture;
    std::uint32_t from, end;
    std::array<std::size_t, 3> counts;  // Of each kind.
  };

  const timeline::Timeline& t_;
  const timeline::EventArgs& args_;
  const Replays& replays_;
  const std::vector<std::shared_ptr<const Capture>>& captures_;
  bool all_read_;
  Effort effort_;
  std::vector<std::uint32_t> text_;  // Names of all runs that have them.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> where_;  // Capture and launch.
  std::vector<Run> nameless_;
  std::set<std::size_t> counts_;  // Of their kernels.
  bool complete_ = true;          // All runs were compared.
};

}  // namespace

Joined join_graphs(const timeline::Timeline& t, timeline::EventArgs& args,
                   std::vector<std::shared_ptr<const Capture>> captures,
                   bool all_read) {
  Joined out;
  out.replays = list_replays(t, args);
  out.joins.resize(out.replays.graphs.size());
  if (out.replays.graphs.empty()) return out;
  // Without a capture in the trace, its other work did not warm up its graphs.
  if (!timeline::stream_captures(t).empty()) {
    captures.push_back(std::make_shared<const Capture>(read_capture(t, args)));
  }
  out.captured = !captures.empty();
  if (!out.captured) return out;
  out.joins = Joiner(t, args, out.replays, captures, all_read).run();
  timeline::CapturedNodes nodes;
  nodes.of_row.assign(t.columns().size(), kNoRow);
  for (std::uint32_t i = 0; i < out.replays.replays.size(); ++i) {
    const auto& replay = out.replays.replays[i];
    const auto& join = out.joins[replay.graph];
    if (join.capture == nullptr) continue;
    const auto& usual = out.replays.replays[out.replays.graphs[replay.graph].usual];
    const auto places = nodes_of(t, args, replay, usual);
    for (std::size_t k = 0; k < places.size(); ++k) {
      const auto launch = join.launches[places[k]];
      if (launch == kNoRow) continue;
      nodes.of_row[replay.rows[k]] = static_cast<std::uint32_t>(nodes.nodes.size());
      nodes.nodes.push_back({join.capture.get(), launch, i, join.sized});
    }
  }
  nodes.captures = std::move(captures);
  args.set_captured(std::move(nodes));
  return out;
}

}  // namespace tta::graphs

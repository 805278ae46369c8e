// SPDX-License-Identifier: BSD-3-Clause
// detector/batch.cpp: chooses tokens, sorts windows by length, lays tokens flat.
#include "detector/batch.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string>
#include <unordered_map>

#include "detector/columns.h"

namespace tta::detector {

namespace {

template <typename T>
void check_length(std::span<const T> labels, std::size_t wanted, const char* name) {
  if (labels.empty() || labels.size() == wanted) return;
  throw std::invalid_argument(std::string(name) + " must have " +
                              std::to_string(wanted) + " values, not " +
                              std::to_string(labels.size()));
}

void check_flags(std::span<const std::int8_t> labels, const char* name) {
  for (const auto label : labels) {
    if (label >= -1 && label <= 1) continue;
    throw std::invalid_argument(std::string(name) + " must be 1, 0 or -1, not " +
                                std::to_string(label));
  }
}

}  // namespace

void check(std::span<const Example> examples, std::size_t patterns) {
  std::map<std::int64_t, std::array<int, 2>> twins;
  for (const auto& e : examples) {
    const auto count = static_cast<std::int64_t>(e.arrays->count());
    if (e.first < 0 || e.first >= e.last || e.last > count) {
      throw std::invalid_argument("an example must have windows, within the " +
                                  std::to_string(count) + " of its trace, not " +
                                  std::to_string(e.first) + " to " +
                                  std::to_string(e.last));
    }
    const auto windows = static_cast<std::size_t>(e.last - e.first);
    check_length(e.any, 2 * windows, "any");
    check_length(e.types, patterns * windows, "types");
    check_length(e.recoverable, windows, "recoverable");
    check_flags(e.any, "any");
    check_flags(e.types, "types");
    check_flags({&e.bad, 1}, "bad");
    for (const auto share : e.recoverable) {
      if (std::isnan(share) || (share >= 0 && share <= 1)) continue;
      throw std::invalid_argument("recoverable must be 0 to 1, or NaN, not " +
                                  std::to_string(share));
    }
    if (e.pair < 0) continue;
    if (e.bad < 0)
      throw std::invalid_argument("an example of a pair must say whether it is bad");
    if (++twins[e.pair][static_cast<std::size_t>(e.bad)] > 1) {
      throw std::invalid_argument("pair " + std::to_string(e.pair) +
                                  " must have one slow example and one fixed one");
    }
  }
}

namespace {

using Token = std::int64_t;

std::size_t at(Token token) { return static_cast<std::size_t>(token); }

bool is_work(const Arrays& a, Token t) {
  return a.lane_kind[at(t)] >= 2;  // streams; the table of tokens
}

// What a token is tied to, as Batch has it.
Token parent_of(const Arrays& a, Token t) {
  const auto parent = a.parent[at(t)], launch = a.launch[at(t)];
  return parent < 0 && launch >= 0 ? a.parent[at(launch)] : parent;
}

// All except repetitions.
std::vector<Token> distinct(const Arrays& a, std::int64_t window) {
  std::vector<Token> out;
  for (auto t = a.token_begin[at(window)]; t < a.token_begin[at(window) + 1]; ++t) {
    if (a.repeats[at(t)] > 0) out.push_back(t);
  }
  return out;
}

class Builder {
 public:
  Builder(std::span<const Arrays> traces, const Matching& matching, Batch& out)
      : traces_(traces), matching_(matching), out_(out) {
    const auto& figures = matching.figures;
    out_.figure_columns = figures.empty() ? kFigures : figures.size();
  }

  // The place of a token, which is added if it is new.
  std::int64_t place(std::uint32_t trace, Token token) {
    const auto key =
        (static_cast<std::uint64_t>(trace) << 32) | static_cast<std::uint32_t>(token);
    const auto [found, added] = places_.try_emplace(key, out_.token.size());
    if (added) {
      out_.trace.push_back(trace);
      out_.token.push_back(token);
    }
    return static_cast<std::int64_t>(found->second);
  }

  // Reads the columns of all.
  void read() {
    for (std::size_t first = 0; first < out_.token.size();) {
      const auto trace = out_.trace[first];
      auto last = first;
      while (last < out_.token.size() && out_.trace[last] == trace) ++last;
      read(traces_[trace], std::span(out_.token).subspan(first, last - first));
      first = last;
    }
  }

 private:
  void read(const Arrays& a, std::span<const Token> tokens) {
    static_assert(features::kPieces == 6);
    const std::array words = {a.piece0, a.piece1, a.piece2,
                              a.piece3, a.piece4, a.piece5};
    for (const auto t : tokens) {
      for (const auto& word : words) out_.pieces.push_back(word[at(t)]);
      const auto kind = a.kind[at(t)];
      out_.kind.push_back(matching_.kinds.empty() ? kind : matching_.kinds[kind]);
      out_.lane.push_back(std::min<std::int32_t>(a.lane[at(t)], kLanes - 1));
      out_.lane_kind.push_back(a.lane_kind[at(t)]);
    }
    if (matching_.figures.empty()) return read_figures(a, tokens, out_.figures);
    std::vector<float> figures;
    read_figures(a, tokens, figures);
    matching_.add_figures(figures, kFigures, out_.figures);
  }

  std::span<const Arrays> traces_;
  const Matching& matching_;
  Batch& out_;
  std::unordered_map<std::uint64_t, std::size_t> places_;
};

}  // namespace

std::size_t count_tokens(const Arrays& a, std::int64_t window, std::size_t most) {
  std::size_t count = 0;
  for (auto t = a.token_begin[at(window)]; t < a.token_begin[at(window) + 1]; ++t) {
    if (a.repeats[at(t)] > 0 && ++count == most) break;
  }
  return count;
}

std::vector<Token> choose_tokens(const Arrays& a, std::int64_t window,
                                 std::size_t most) {
  auto out = distinct(a, window);
  if (out.size() <= most) return out;
  const auto first = a.token_begin[at(window)];
  enum Rank : char { kRest, kAround, kLost };
  std::vector<Rank> rank(at(a.token_begin[at(window) + 1] - first), kRest);
  const auto by_rank = [&](Token left, Token right) {
    const auto l = rank[at(left - first)], r = rank[at(right - first)];
    const auto l_time = std::max(a.duration[at(left)], a.gap[at(left)]);
    const auto r_time = std::max(a.duration[at(right)], a.gap[at(right)]);
    return l != r ? l > r : l_time != r_time ? l_time > r_time : left < right;
  };
  for (const auto t : out) {
    if (is_work(a, t) || a.waits[at(t)] != 0) rank[at(t - first)] = kLost;
  }
  std::sort(out.begin(), out.end(), by_rank);
  // Work comes with what it is tied to, as long as there is room for all of that.
  for (std::size_t i = 0; i < most; ++i) {
    if (rank[at(out[i] - first)] != kLost) break;
    for (const auto tied : {Token{a.launch[at(out[i])]}, parent_of(a, out[i])}) {
      if (tied < first || a.repeats[at(tied)] == 0) continue;
      if (rank[at(tied - first)] == kRest) rank[at(tied - first)] = kAround;
    }
  }
  std::sort(out.begin(), out.end(), by_rank);
  out.resize(most);
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<std::vector<std::size_t>> group_by_length(
    std::span<const std::size_t> lengths, const BatchLimits& limits) {
  std::vector<std::size_t> order(lengths.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto length = [&](std::size_t i) {
    return std::max<std::size_t>(1, lengths[i]);
  };
  // Longest first: the first of a batch is what all others are padded to.
  std::stable_sort(order.begin(), order.end(),
                   [&](auto a, auto b) { return length(a) > length(b); });
  std::vector<std::vector<std::size_t>> out;
  std::size_t filled = 0;
  for (const auto i : order) {
    if (!out.empty()) {
      const auto area = (out.back().size() + 1) * length(out.back()[0]);
      const auto waste = static_cast<double>(area - filled - length(i));
      if (area > limits.tokens || waste > limits.padding * static_cast<double>(area)) {
        out.emplace_back();
        filled = 0;
      }
    } else {
      out.emplace_back();
    }
    out.back().push_back(i);
    filled += length(i);
  }
  return out;
}

Batch make_batch(std::span<const Arrays> traces, std::span<const WindowRef> windows,
                 std::size_t most, const Matching& matching) {
  Batch out;
  out.windows = windows.size();
  Builder builder(traces, matching, out);
  std::vector<std::size_t> lengths;
  for (const auto& w : windows) {
    const auto chosen = choose_tokens(traces[w.trace], w.window, most);
    for (const auto t : chosen) builder.place(w.trace, t);
    lengths.push_back(chosen.size());
    out.length = std::max(out.length, chosen.size());
  }
  out.kept = out.token.size();
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    for (std::size_t j = 0; j < lengths[i]; ++j) {
      out.slot.push_back(static_cast<std::int64_t>(i * out.length + j));
    }
  }
  constexpr std::int64_t kNone = -1;
  const auto edge = [&](std::uint32_t trace, Token to) {
    return to < 0 ? kNone : builder.place(trace, to);
  };
  for (std::size_t i = 0; i < out.kept; ++i) {
    const auto trace = out.trace[i];
    const auto token = out.token[i];
    out.parent.push_back(edge(trace, parent_of(traces[trace], token)));
    out.launch.push_back(edge(trace, traces[trace].launch[at(token)]));
  }
  builder.read();
  for (auto* const edges : {&out.parent, &out.launch}) {
    std::replace(edges->begin(), edges->end(), kNone,
                 static_cast<std::int64_t>(out.size()));
  }
  return out;
}

}  // namespace tta::detector

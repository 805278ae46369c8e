// SPDX-License-Identifier: BSD-3-Clause
// trace/spans.cpp: a stack for each thread.
#include "trace/spans.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

namespace tta::trace {
namespace {

// Candidates looked at that began, or ended, at one moment: thousands that do take no
// square.
constexpr std::size_t kMostTied = 16;
constexpr std::size_t kRowsBetween = 1 << 16;

class Pairs {
 public:
  Pairs(Trace& trace, std::vector<std::uint32_t>& kept) : t_(trace), kept_(kept) {}

  // Rows of one thread, in order.
  void pair(std::vector<std::uint32_t> rows) {
    open_.clear();
    // An end need not say what it ends.
    const bool known =
        std::ranges::any_of(rows, [&](auto row) { return is_known(row); });
    const bool silent = std::ranges::any_of(
        rows, [&](auto row) { return !is_begin(row) && !names_its_own(row); });
    const bool in_time = silent && by_place(rows);
    for (std::size_t i = 0; i < rows.size();) {
      // What happens at one moment, or one after the other if the file tells that.
      const auto ts = t_.columns.ts[rows[i]];
      const auto first = i;
      begins_.clear();
      ends_.clear();
      do {
        (is_begin(rows[i]) ? begins_ : ends_).push_back(rows[i]);
      } while (++i < rows.size() && t_.columns.ts[rows[i]] == ts &&
               (!in_time || is_begin(rows[i]) == is_begin(rows[first])));
      std::ranges::reverse(ends_);  // the next one last
      while (!ends_.empty() && !open_.empty() && close_one()) {
      }
      open_.insert(open_.end(), begins_.begin(), begins_.end());
      begins_.clear();
      while (!ends_.empty() && !open_.empty() && close_one()) {
      }
      if (known) std::ranges::for_each(ends_, [&](auto row) { leave(row); });
    }
    if (known) std::ranges::for_each(open_, [&](auto row) { leave(row); });
  }

  // Counts what has no other half.
  void leave(std::uint32_t row) {
    if (!is_begin(row)) {
      stray_.push_back(row);
      used_.push_back(row);
    } else if (is_known(row)) {
      unclosed_.push_back(row);
    }
  }

  // Ends to drop, in any order.
  std::vector<std::uint32_t>& used() { return used_; }

  void warn() {
    tell("unclosed_span", unclosed_,
         "spans that begin (ph B) and have no end (ph E) are untimed");
    tell("stray_end", stray_, "ends (ph E) of nothing that began were dropped");
  }

 private:
  bool is_begin(std::uint32_t row) const { return t_.columns.phase[row] == 'B'; }
  bool is_known(std::uint32_t row) const {
    return t_.columns.cat(row) != Category::kUnknown;
  }
  // Sorts rows of one moment by their place in the file. Whether all are in that order.
  bool by_place(std::vector<std::uint32_t>& rows) const {
    const auto& c = t_.columns;
    std::ranges::sort(
        rows, {}, [&](auto row) { return std::pair(c.ts[row], c.args_offset[row]); });
    return std::ranges::is_sorted(rows, {},
                                  [&](auto row) { return c.args_offset[row]; });
  }
  bool names_its_own(std::uint32_t end) const {
    return t_.columns.name[end] != 0 || is_known(end);
  }
  // Whether an end may be that of a beginning by what it says.
  bool fits(std::uint32_t end, std::uint32_t begin) const {
    const auto& c = t_.columns;
    return (c.name[end] == 0 || c.name[end] == c.name[begin]) &&
           (!is_known(end) || !is_known(begin) || c.category[end] == c.category[begin]);
  }

  // Closes something that is open by one of the ends of a moment, but not by one that
  // names what begins at that moment. False if none is left that may.
  bool close_one() {
    const auto& ts = t_.columns.ts;
    const auto last = open_.size(), ends = ends_.size();
    const auto first = last - std::min(last, kMostTied);
    const auto to = ends - std::min(ends, kMostTied);
    for (auto at = last; at-- > first && ts[open_[at]] == ts[open_.back()];) {
      for (auto end = ends; end-- > to;) {
        if (names_its_own(ends_[end]) && fits(ends_[end], open_[at])) {
          close(at, end);
          return true;
        }
      }
    }
    const auto later = std::min(begins_.size(), kMostTied);
    const auto names_a_later_one = [&](std::uint32_t end) {
      return names_its_own(end) &&
             std::any_of(begins_.begin(),
                         begins_.begin() + static_cast<std::ptrdiff_t>(later),
                         [&](auto begin) { return fits(end, begin); });
    };
    for (auto end = ends; end-- > to;) {
      if (names_a_later_one(ends_[end])) continue;
      close(last - 1, end);
      return true;
    }
    return false;
  }

  void close(std::size_t at, std::size_t by) {
    const auto begin = open_[at], end = ends_[by];
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(at));
    ends_.erase(ends_.begin() + static_cast<std::ptrdiff_t>(by));
    if (!is_known(begin) && !is_known(end)) return;
    auto& c = t_.columns;
    if (!is_known(begin)) c.category[begin] = c.category[end];
    c.phase[begin] = 'X';
    c.dur[begin] = c.ts[end] - c.ts[begin];
    if (c.name[begin] == 0) c.name[begin] = c.name[end];
    for (auto* ids : {&c.stream, &c.correlation, &c.external_id, &c.python_id,
                      &c.python_parent_id, &c.sequence}) {
      if ((*ids)[begin] == kNoId) (*ids)[begin] = (*ids)[end];
    }
    if (c.args_length[begin] == 0) {
      c.args_offset[begin] = c.args_offset[end];
      c.args_length[begin] = c.args_length[end];
    }
    if (!kept_.empty()) kept_[begin] = t_.kept_args.join(kept_[begin], kept_[end]);
    used_.push_back(end);
  }

  void tell(const char* kind, const std::vector<std::uint32_t>& rows,
            const std::string& text) {
    if (rows.empty()) return;
    auto first = t_.columns.args_offset[rows[0]];
    for (const auto row : rows) first = std::min(first, t_.columns.args_offset[row]);
    t_.warnings.push_back(
        {kind, rows.size(),
         text + " (first at JSON byte " + std::to_string(first) + ")"});
  }

  Trace& t_;
  std::vector<std::uint32_t>& kept_;
  std::vector<std::uint32_t> open_, begins_, ends_, used_, unclosed_, stray_;
};

}  // namespace

std::optional<std::vector<std::uint32_t>> pair_spans(
    Trace& trace, std::vector<std::uint32_t>& kept,
    const std::function<void()>& checkpoint) {
  const auto& c = trace.columns;
  const auto is_half = [&](std::uint32_t row) {
    return c.phase[row] == 'B' || c.phase[row] == 'E';
  };
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::uint32_t>> threads;
  std::vector<std::uint32_t> untimed;
  std::vector<char> halves;  // of each row, whether it was read as one
  for (std::uint32_t row = 0; row < c.size(); ++row) {
    if (!is_half(row)) continue;
    halves.resize(c.size(), 0);
    halves[row] = 1;
    if (c.ts[row] > -kTimeLimit && c.ts[row] < kTimeLimit) {
      threads[{c.pid[row], c.tid[row]}].push_back(row);
    } else if (c.cat(row) != Category::kUnknown) {
      untimed.push_back(row);
    }
  }
  if (halves.empty()) return {};
  Pairs pairs(trace, kept);
  for (const auto row : untimed) pairs.leave(row);
  std::size_t since = 0;
  for (const auto& [thread, rows] : threads) {
    if ((since += rows.size()) > kRowsBetween) {
      checkpoint();
      since = 0;
    }
    pairs.pair(rows);
  }
  pairs.warn();
  std::vector<char> dropped(c.size(), 0);
  for (const auto row : pairs.used()) dropped[row] = 1;
  std::vector<std::uint32_t> out;
  for (std::uint32_t row = 0; row < c.size(); ++row) {
    if (dropped[row]) continue;
    if (halves[row] &&
        !trace.kept.keeps(c.phase[row], c.category[row], c.ts[row], c.dur[row])) {
      ++trace.left_out;
      continue;
    }
    out.push_back(row);
  }
  return out;
}

}  // namespace tta::trace

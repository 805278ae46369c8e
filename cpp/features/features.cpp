// SPDX-License-Identifier: BSD-3-Clause
// features/features.cpp: window by window, tokens first.
#include "features/features.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "features/tokens.h"
#include "features/whole.h"
#include "features/window_stats.h"
#include "patterns/pattern.h"
#include "timeline/median.h"
#include "timeline/windows.h"

namespace tta::features {
namespace {

// Coarse windows, made of fine ones.

struct MergedWindows {
  std::vector<timeline::Window> windows;
  /// Window i is made of fine windows [begin[i], begin[i + 1]).
  std::vector<std::int64_t> begin;
  std::vector<float> causes;  ///< As of make_features; empty if those given are.
};

using timeline::Window;

bool are_neighbors(const Window& a, const Window& b) {
  return a.device == b.device && a.pid == b.pid && a.step == b.step &&
         a.end_ns == b.begin_ns;
}

double length_of(const Window& w) { return static_cast<double>(w.end_ns - w.begin_ns); }

// Makes one window of up to `most` neighbors of the same device or process and of the
// same step, from the first on; so the borders of steps stay, and each coarse window
// tiles what its fine ones did. A share of time is that of the whole, in which longer
// windows weigh more. Linear. `causes` has `patterns` values for each window, or none;
// `most` is at least 1.
MergedWindows merge_windows(std::span<const Window> windows,
                            std::span<const float> causes, std::size_t patterns,
                            std::size_t most) {
  MergedWindows out;
  out.begin.push_back(0);
  for (std::size_t first = 0; first < windows.size();) {
    auto whole = windows[first];
    auto end = first + 1;
    for (; end < windows.size() && end - first < most; ++end) {
      if (!are_neighbors(whole, windows[end])) break;
      whole.end_ns = windows[end].end_ns;
      whole.events += windows[end].events;
      whole.work += windows[end].work;
    }
    for (std::size_t k = 0; k < patterns && !causes.empty(); ++k) {
      double wasted = 0;
      for (auto i = first; i < end; ++i) {
        wasted += static_cast<double>(causes[i * patterns + k]) * length_of(windows[i]);
      }
      out.causes.push_back(static_cast<float>(wasted / length_of(whole)));
    }
    out.windows.push_back(whole);
    out.begin.push_back(static_cast<std::int64_t>(end));
    first = end;
  }
  return out;
}

static_assert(sizeof(WindowStats) == kStatistics * sizeof(float));

bool of_one_tiling(const Window& a, const Window& b) {
  return a.device == b.device && a.pid == b.pid;
}

// Edges are 32 bits wide.
void check_count(std::span<const Window> windows) {
  std::uint64_t events = 0;
  for (const auto& w : windows) events += w.events;
  if (events > std::numeric_limits<std::int32_t>::max()) {
    throw std::length_error("more events in windows than edges can number");
  }
}

// From the first to the last window in a row that lies in the same step.
std::vector<timeline::Interval> steps_around(std::span<const Window> windows) {
  std::vector<timeline::Interval> out(windows.size());
  for (std::size_t first = 0; first < windows.size();) {
    auto last = first;
    const auto same = [&](const Window& w) {
      return w.step == windows[first].step && of_one_tiling(w, windows[first]);
    };
    while (last + 1 < windows.size() && same(windows[last + 1])) ++last;
    if (windows[first].step != timeline::kNoStep) {
      std::fill(out.begin() + static_cast<std::ptrdiff_t>(first),
                out.begin() + static_cast<std::ptrdiff_t>(last + 1),
                timeline::Interval{windows[first].begin_ns, windows[last].end_ns});
    }
    first = last + 1;
  }
  return out;
}

}  // namespace

Features make_features(const timeline::Timeline& t, const timeline::EventArgs& args,
                       std::span<const Window> fine, std::span<const float> shares,
                       const Checkpoint& checkpoint, std::size_t merge) {
  const auto columns = window_columns().size();
  const auto patterns = patterns::patterns().size();
  if (!shares.empty() && shares.size() != fine.size() * patterns) {
    throw std::invalid_argument("causes must hold a share of each window and pattern");
  }
  if (merge == 0) throw std::invalid_argument("merge must be at least 1, not 0");
  auto merged = merge_windows(fine, shares, patterns, merge);
  const auto& windows = merged.windows;
  const auto& causes = merged.causes;
  check_count(windows);
  Features out;
  out.token_begin.push_back(0);
  out.window_begin = std::move(merged.begin);
  if (windows.empty()) return out;
  const Whole whole(t, args);
  checkpoint();
  const timeline::WindowRows rows(t);
  std::vector<std::int64_t> lengths;
  for (const auto& w : windows) lengths.push_back(w.end_ns - w.begin_ns);
  const auto usual_length = timeline::lower_median(std::move(lengths));
  const auto steps = steps_around(windows);
  out.windows.assign(windows.size() * columns, std::numeric_limits<float>::quiet_NaN());
  TokenWriter writer(whole);
  std::size_t tied = 0;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    checkpoint();
    const auto of_window = rows.of(windows[i]);
    const WindowFacts facts{windows[i],
                            of_window,
                            out.tokens,
                            out.tokens.size(),
                            whole.device(windows[i].device),
                            steps[i],
                            usual_length};
    writer.write(windows[i], of_window, out.tokens);
    out.row.insert(out.row.end(), of_window.begin(), of_window.end());
    const auto stats = window_stats(whole, facts);
    auto* const to = out.windows.data() + i * columns;
    std::memcpy(to, &stats, sizeof(stats));
    if (!causes.empty()) {
      std::copy_n(causes.begin() + static_cast<std::ptrdiff_t>(i * patterns), patterns,
                  to + kStatistics);
    }
    out.token_begin.push_back(static_cast<std::int64_t>(out.tokens.size()));
    if (i + 1 == windows.size() || !of_one_tiling(windows[i], windows[i + 1])) {
      writer.tie(std::span(out.row).subspan(tied), tied, out.tokens);
      tied = out.row.size();
    }
  }
  return out;
}

}  // namespace tta::features

// SPDX-License-Identifier: BSD-3-Clause
// features/window_stats.cpp: the groups of columns together, and the window's shape.
#include "features/window_stats.h"

#include <algorithm>
#include <unordered_set>

namespace tta::features {

float percentile(std::vector<float>& values, std::size_t percent) {
  if (values.empty()) return std::numeric_limits<float>::quiet_NaN();
  const auto rank = std::max<std::size_t>(1, (percent * values.size() + 99) / 100);
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(rank - 1);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

void read_shape(const Whole& w, const WindowFacts& f, WindowStats& out) {
  const auto& c = w.t.columns();
  const auto length = f.time().length();
  out.length_ratio =
      log_ratio(static_cast<double>(length), static_cast<double>(f.usual_length));
  out.events = log_count(static_cast<double>(f.rows.size()));
  const auto all = static_cast<double>(std::max<std::size_t>(1, f.rows.size()));
  if (f.device != nullptr) out.work_share = share(f.window.work, all);
  if (f.step.length() > 0) {
    const auto step = static_cast<double>(f.step.length());
    const auto middle = f.window.begin_ns + length / 2;
    out.share_of_step = share(static_cast<double>(length), step);
    out.place_in_step = share(static_cast<double>(middle - f.step.begin), step);
  }
  std::unordered_set<std::uint32_t> names;
  double fresh = 0, repeated = 0;
  for (std::size_t i = 0; i < f.rows.size(); ++i) {
    const auto row = f.rows[i];
    if (names.insert(c.name[row]).second && w.usual.first[c.name[row]] == c.ts[row]) {
      ++fresh;
    }
    repeated += f.tokens.repeats[f.first + i] == 0;
  }
  out.new_names = share(fresh, all);
  out.repeats = share(repeated, all);
}

WindowStats window_stats(const Whole& whole, const WindowFacts& facts) {
  WindowStats out;
  read_shape(whole, facts, out);
  if (facts.device != nullptr) {
    read_device(whole, facts, out);
    read_queue(whole, facts, out);
    read_copies(whole, facts, out);
    read_kernels(whole, facts, out);
  }
  read_host(whole, facts, out);
  read_operators(whole, facts, out);
  return out;
}

}  // namespace tta::features

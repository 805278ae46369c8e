// SPDX-License-Identifier: BSD-3-Clause
// features/merged_windows.cpp: adds up neighbors.
#include "features/merged_windows.h"

namespace tta::features {
namespace {

using timeline::Window;

bool are_neighbors(const Window& a, const Window& b) {
  return a.device == b.device && a.pid == b.pid && a.step == b.step &&
         a.end_ns == b.begin_ns;
}

double length_of(const Window& w) { return static_cast<double>(w.end_ns - w.begin_ns); }

}  // namespace

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

}  // namespace tta::features

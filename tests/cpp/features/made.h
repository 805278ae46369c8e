// SPDX-License-Identifier: BSD-3-Clause
// features/made.h: the arrays of a small trace, to be asked by name.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "features/features.h"
#include "timeline/timed.h"

namespace tta::features {

struct Made {
  explicit Made(const test::TraceText& text, std::uint32_t max_events = 128,
                const std::vector<float>& causes = {})
      : timed(text),
        args(timed),
        windows(timeline::make_windows(timed, {max_events})),
        features(make_features(timed, args, windows, causes)) {}

  /// The value of a column in a window.
  float operator()(std::string_view column, std::size_t window = 0) const {
    const auto columns = window_columns();
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (columns[i].name == column) {
        return features.windows[window * columns.size() + i];
      }
    }
    throw std::invalid_argument("no such column");
  }

  test::Timed timed;
  timeline::EventArgs args;
  std::vector<timeline::Window> windows;
  Features features;
};

}  // namespace tta::features

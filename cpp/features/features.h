// SPDX-License-Identifier: BSD-3-Clause
// features/features.h: a trace as flat arrays, which a model reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "features/feature_table.h"
#include "features/token_columns.h"
#include "timeline/event_args.h"
#include "timeline/timeline.h"
#include "timeline/windows.h"

namespace tta::features {

/// The arrays of a trace. Their columns: features/feature_table.h.
struct Features {
  /// Row by row, window_columns().size() values for each window.
  std::vector<float> windows;
  Tokens tokens;
  /// The event of each token: its row in the columns of the trace. Says who it is, and
  /// is nothing to learn from.
  std::vector<std::uint32_t> row;
  /// The tokens of window i are [token_begin[i], token_begin[i + 1]).
  std::vector<std::int64_t> token_begin;
  /// Window i is made of windows [window_begin[i], window_begin[i + 1]) of those given.
  std::vector<std::int64_t> window_begin;
};

/// Called between windows; its exceptions propagate.
using Checkpoint = std::function<void()>;

/// Computes them, in the order of `windows`, which are those of make_windows().
///
/// `causes` holds for each window the share of its time that each pattern of the
/// pattern table wastes, row by row; none: they are not known. Who finds patterns lies
/// above this part.
///
/// With `merge` above 1, up to `merge` neighboring windows of a step become one (see
/// features/features.cpp), and all values describe that one.
///
/// Statistics are finite or, where the table says so, NaN; tokens are finite. Neither
/// depends on the order of events in the file (see trace/order.h), on when the trace
/// was recorded or on the numbers of processes, threads and devices. O(n log n) in the
/// rows; the host's rows count once for each device of their process. Throws
/// std::invalid_argument if `causes` has another length or `merge` is 0, and
/// std::length_error if edges cannot number the tokens.
Features make_features(
    const timeline::Timeline& timeline, const timeline::EventArgs& args,
    std::span<const timeline::Window> windows, std::span<const float> causes = {},
    const Checkpoint& checkpoint = [] {}, std::size_t merge = 1);

}  // namespace tta::features

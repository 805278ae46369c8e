// SPDX-License-Identifier: BSD-3-Clause
// detector/stacked.h: a forest and a stack that are small enough to be worked out by
// hand.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "detector/columns.h"
#include "detector/stack.h"
#include "features/feature_table.h"

namespace tta::detector {

inline std::size_t column_of(std::string_view name) {
  const auto all = features::window_columns();
  return static_cast<std::size_t>(
      std::find_if(all.begin(), all.end(),
                   [&](const auto& c) { return c.name == name; }) -
      all.begin());
}

/// Adds to "any CPU", which begins with 0.5: 1 if busy <= 0.5, else 2 if idle_long <=
/// 0.25 or missing, else 4. Where busy is missing it goes to the right. And 0.125 to
/// recoverable, whatever comes.
inline Trees small_trees() {
  const auto busy = static_cast<std::int64_t>(column_of("busy"));
  const auto idle = static_cast<std::int64_t>(column_of("idle_long"));
  Trees out;
  out.begin = {0, 5, 6};
  out.output = {0, static_cast<std::int64_t>(own_tables().outputs()) - 1};
  out.column = {busy, -1, idle, -1, -1, -1};
  out.bound = {0.5f, 0, 0.25f, 0, 0, 0};
  out.missing_left = {0, 0, 1, 0, 0, 0};
  out.left = {1, 0, 3, 0, 0, 0};
  out.right = {2, 0, 4, 0, 0, 0};
  out.value = {0, 1, 0, 2, 4, 0.125f};
  out.base.resize(own_tables().outputs());
  out.base[0] = 0.5f;
  return out;
}

/// With all of its parts.
inline Stack small_stack() {
  const auto columns = features::window_columns().size();
  Stack out;
  out.trees = Forest(small_trees());
  out.mix.sides = {{{0.5f, 0.25f, 0.125f, -1}, {2, 0, 1, 0.5f}}};
  out.mix.types = {1, 0.5f, 0.25f};
  out.mix.recoverable = 0.75f;
  out.calibration.negatives = {{{0.1f, 0.2f, 0.2f, 0.7f}, {0, 0.5f, 1}}};
  out.known.center.assign(columns, 0.5f);
  out.known.middle.assign(columns, 0.25f);
  out.known.whiten.assign(2 * columns, 0);
  out.known.whiten[0] = 3;
  out.known.whiten[columns + 1] = 4;
  out.known.window_from = 7;
  out.known.trace_from = 5;
  return out;
}

/// Says why a call is refused; "" if it is not.
template <typename Error = std::invalid_argument>
std::string why_refused(const std::function<void()>& call) {
  try {
    call();
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace tta::detector

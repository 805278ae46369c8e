// SPDX-License-Identifier: BSD-3-Clause
// timeline/median.h: the middle of values, and other places in their order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace tta::timeline {

/// Returns the value at place `at` of the sorted values; `at` must be below their
/// number. Linear, plus the copy, which a moved vector saves.
template <typename T>
T value_at(std::vector<T> values, std::size_t at) {
  const auto it = values.begin() + static_cast<std::ptrdiff_t>(at);
  std::nth_element(values.begin(), it, values.end());
  return *it;
}

/// Returns the median, of an even number the lower of the two in the middle. There must
/// be one value.
template <typename T>
T lower_median(std::vector<T> values) {
  const auto at = (values.size() - 1) / 2;
  return value_at(std::move(values), at);
}

/// The same, but of an even number the upper of the two.
template <typename T>
T upper_median(std::vector<T> values) {
  const auto at = values.size() / 2;
  return value_at(std::move(values), at);
}

}  // namespace tta::timeline

// SPDX-License-Identifier: BSD-3-Clause
// trace/sort_runs.h: sorts what is sorted thread by thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace tta::trace {

/// Sorts values, equal ones in their order: a merge sort that starts from the runs that
/// are in order already. O(n log runs): what a few threads did takes a few passes,
/// where std::sort would take them all as if they were in no order.
template <typename T, typename Less = std::less<>>
void sort_runs(std::vector<T>& values, Less less = {}) {
  std::vector<std::size_t> ends;  // of the runs
  for (std::size_t i = 1; i < values.size(); ++i) {
    if (less(values[i], values[i - 1])) ends.push_back(i);
  }
  if (ends.empty()) return;
  ends.push_back(values.size());
  std::vector<T> merged(values.size());
  const auto at = [](std::vector<T>& of, std::size_t i) {
    return of.begin() + static_cast<std::ptrdiff_t>(i);
  };
  while (ends.size() > 1) {
    std::vector<std::size_t> longer;
    std::size_t first = 0;
    for (std::size_t k = 0; k < ends.size(); k += 2) {
      const auto middle = ends[k];
      const auto last = ends[std::min(k + 1, ends.size() - 1)];
      std::merge(at(values, first), at(values, middle), at(values, middle),
                 at(values, last), at(merged, first), less);
      longer.push_back(first = last);
    }
    std::swap(values, merged);
    ends = std::move(longer);
  }
}

}  // namespace tta::trace

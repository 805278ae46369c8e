// SPDX-License-Identifier: BSD-3-Clause
// trace/order.h: one order of rows, whatever the order of events in the file.
//
// Kineto writes buffer by buffer, other tools sort, merge or append. An analysis that
// breaks a tie by the row's number would depend on that, so rows are ordered once,
// before anything reads them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "trace/trace.h"

namespace tta::trace {

/// Orders the rows by their start; of those that start together the longer comes first,
/// then the outer kind (a Python frame, an annotation, an operator, a call), then by
/// process, thread, name, device, stream, and all other columns. Rows without a start
/// (metadata) come first. Rows that agree in every column and in the args that are kept
/// stay in file order. Ids of names count from 0 in order of the rows. Beginnings and
/// ends of spans become spans (trace/spans.h).
///
/// O(n log r) for rows in r ascending runs, and O(s log s) for s distinct names; takes
/// up to 28 bytes a row meanwhile. Calls the checkpoint each 65,536 rows, which may
/// throw: the trace is then incomplete. Not for a trace that others read already, for
/// row numbers change.
void order_rows(Trace& trace, const std::function<void()>& checkpoint = [] {});

/// Returns 0 for a kind of event that encloses the others where they start and end
/// together, up to 3: an annotation or a Python frame encloses the operator that fills
/// it, an operator its runtime call.
int depth_rank(Category category);

/// Sorts values, equal ones in their order: a merge sort that starts from the runs that
/// are in order already. O(n log runs): what a few threads did takes a few passes,
/// where std::sort would take them all as if they were in no order.
///
/// Calls `between` each kBetween values.
template <typename T, typename Less = std::less<>, typename Between = void (*)()>
void sort_runs(std::vector<T>& values, Less less = {}, Between between = [] {}) {
  constexpr std::size_t kBetween = 1 << 16;
  std::vector<std::size_t> ends;  // of the runs
  for (std::size_t i = 1; i < values.size(); ++i) {
    if (i % kBetween == 0) between();
    if (less(values[i], values[i - 1])) ends.push_back(i);
  }
  if (ends.empty()) return;
  ends.push_back(values.size());
  std::vector<T> merged(values.size());
  while (ends.size() > 1) {
    std::vector<std::size_t> longer;
    std::size_t a = 0, out = 0;
    for (std::size_t k = 0; k < ends.size(); k += 2) {
      const auto middle = ends[k];
      const auto last = ends[std::min(k + 1, ends.size() - 1)];
      for (auto b = middle; out < last; ++out) {
        if (out % kBetween == 0) between();
        const bool second = a == middle || (b < last && less(values[b], values[a]));
        merged[out] = std::move(values[second ? b++ : a++]);
      }
      longer.push_back(a = last);
    }
    std::swap(values, merged);
    ends = std::move(longer);
  }
}

}  // namespace tta::trace

// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/recompile_or_lazy_load/first_calls.h: runtime calls that did something
// once.
#pragma once

#include <cstdint>
#include <unordered_set>

#include "patterns/rule.h"
#include "patterns/rules/recompile_or_lazy_load/cold_ops.h"

namespace tta::patterns {

/// Refers to the timeline.
class FirstCalls {
 public:
  /// O(n log n) in the runtime calls.
  FirstCalls(const timeline::Timeline& timeline, std::int64_t least_context,
             const ColdLimits& limits);

  /// Tells whether a call made its process's context on a device: it is the first that
  /// needs one (or asks for devices, before it), took `least_context` nanoseconds, and
  /// no device of the process had worked. Copies, launches and waits are none: in a
  /// recording that begins later, they wait for work from before it.
  bool makes_context(std::uint32_t row) const { return contexts_.contains(row); }

  /// The time of such calls on the thread of a row.
  IntervalSet contexts_in(std::uint32_t row) const;

  /// Tells whether a call is the first launch of a graph, and longer than the later
  /// ones of as many kernels by the factor of cold operators.
  bool uploads_a_graph(std::uint32_t row) const { return uploads_.contains(row); }

 private:
  void find_contexts(std::int64_t least);
  void find_uploads(const ColdLimits& limits);

  const timeline::Timeline& t_;
  const trace::Columns& c_;
  std::unordered_set<std::uint32_t> contexts_, uploads_;
};

}  // namespace tta::patterns

// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/recompile_or_lazy_load/first_calls.h: what a program does the first
// time only: runs of compiled functions, operators, runtime calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_set>
#include <vector>

#include "patterns/rule.h"

namespace tta::patterns {

/// The runs of compiled functions. What torch.compile made runs as "Torch-Compiled
/// Region: <function>/<n>", n above 0 if it had been compiled for other inputs before.
class Compilations {
 public:
  /// O(n log n) in the rows.
  explicit Compilations(const timeline::Timeline& timeline);

  /// Tells whether the code that a compilation (a row that ends at `end`) made is not
  /// the first of its function. That is seen by the next region on its thread, if that
  /// one had not run before; compiling a backward pass belongs to the region that the
  /// process ran last. False if no region tells.
  bool again(std::uint32_t row, std::int64_t end) const;

 private:
  struct Run {
    std::int64_t at = 0;
    bool again = false;      // n is above 0
    bool first_run = false;  // of this function and n, in its process
  };
  using Runs = std::vector<Run>;  // by time

  const timeline::Timeline& timeline_;
  std::map<std::uint32_t, Runs> of_lane_;
  std::map<std::int64_t, Runs> of_process_;
};

struct ColdLimits {
  double factor = 10;              ///< Over the median of the operator's calls.
  std::int64_t least = 1'000'000;  ///< Nanoseconds, where no load is recorded in it.
  std::size_t later_calls = 2;     ///< On its thread, to tell by; likewise.
};

/// A cold call of an operator.
struct ColdOp {
  std::uint32_t row = 0;
  IntervalSet own;  ///< Its time outside the operators that it called.
};

/// Lists the cold operators among the deepest that launch device work, in no order:
/// first calls, told by how long later ones take. A library that sets itself up or
/// loads code inside an operator need not make a single long call into the runtime: the
/// operator is then the only event that shows it.
///
/// An operator is cold if its own time, without waits for the device, is more than
/// `factor` times the median (own time) of its name on its thread, and it either holds
/// the load of a function or module, or is the first of its name on its thread, with
/// calls after it, and long. None in a trace without device work: there the length of a
/// call depends on its data. O(n log n) in the rows.
std::vector<ColdOp> cold_ops(const timeline::Timeline& timeline,
                             const ColdLimits& limits);

/// Runtime calls that did something once. Refers to the timeline.
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

// SPDX-License-Identifier: BSD-3-Clause
// pipeline/comparison/call_tree.h: a trace reduced to its calls, with the device time
// that each launched. It does not refer to the trace.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "pipeline/report.h"

namespace tta::pipeline {

/// Calls of one node with the same inputs, whose work is known.
struct KnownWork {
  std::uint32_t row = 0;  ///< Index into CallTree::roofline.
  std::uint64_t calls = 0;
  std::int64_t work_ns = 0;  ///< Sum of the durations of their own work.
};

/// Kernels, copies or memsets of one name.
struct NamedWork {
  std::int64_t ns = 0;  ///< Sum of the durations.
  std::uint64_t count = 0;
};
using WorkByName = std::map<std::uint32_t, NamedWork>;  ///< By CallTree::names.

/// All calls of one name under one parent. Its own work is launched in
/// it, but in none of its children.
struct CallNode {
  /// Of an operator or range, without what numbers its instances: "nn.Module: Linear"
  /// of "nn.Module: Linear_7". "" of the root.
  std::string name;
  std::uint32_t parent = 0;
  std::uint32_t depth = 0;              ///< 0 for the root.
  std::vector<std::uint32_t> children;  ///< In the order of their first calls.
  std::uint64_t calls = 0;  ///< Of those with device work inside; 1 for the root.
  /// Device time of its own work. Of work that overlaps on one device, a moment is that
  /// of the work that started first, so that all nodes add up to the busy time.
  std::int64_t own_ns = 0;
  std::int64_t own_work_ns = 0;  ///< Sum of the durations of the same work.
  std::uint64_t own_work = 0;    ///< Its kernels, copies and memsets.
  WorkByName named;
  std::vector<KnownWork> known;
};

/// The operators, annotations (except steps) and frames of nn.Module of all threads
/// that have device work inside, as one tree. An operator of the backward pass is under
/// the module or annotation that its forward operator is in, where that is known. Work
/// without a known launch, or outside of all of these, is the root's.
struct CallTree {
  std::vector<CallNode> nodes;        ///< The root first, parents before children.
  std::vector<std::string> names;     ///< Of device work.
  WorkByName kernels;                 ///< All of the trace, without copies and memsets.
  std::vector<RooflineRow> roofline;  ///< Empty without recorded shapes.
  std::uint64_t steps = 0;
  std::uint64_t devices = 0;  ///< Those that worked.
};

/// Reduces a trace. O(n log n) in its rows.
CallTree make_call_tree(const Report& report);

}  // namespace tta::pipeline

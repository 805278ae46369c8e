// SPDX-License-Identifier: BSD-3-Clause
// pipeline/comparison/compared_tree.h: one of the two trees that are aligned, and the
// figures of its parts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "pipeline/comparison/call_tree.h"
#include "pipeline/comparison/reasons.h"

namespace tta::pipeline {

/// Nodes of one tree that are in one row.
struct RowPart {
  std::vector<std::uint32_t> nodes;
  std::uint32_t parent = 0;
  bool only_own = false;  ///< Without their children.
};

/// Refers to the tree.
class ComparedTree {
 public:
  ComparedTree(const CallTree& tree, bool per_step)
      : tree_(tree),
        units_(std::max<std::uint64_t>(1, tree.devices) *
               (per_step ? std::max<std::uint64_t>(1, tree.steps) : 1)) {}

  const CallNode& node(std::uint32_t at) const { return tree_.nodes[at]; }
  /// What totals are divided by: devices, and steps if figures are of one step.
  std::uint64_t units() const { return units_; }

  /// Adds a part up; all but device_ns is divided by the units. Linear in its nodes.
  RowFigures figures(const RowPart& part) const;
  /// Names a part: at most four operators, with how often each is called.
  std::string name(const RowPart& part) const;

 private:
  // Of several operators, those of their parent: how often they were run together.
  std::uint64_t calls_of(const RowPart& part) const;
  void add(const KnownWork& known, RowFigures& out) const;

  const CallTree& tree_;
  std::uint64_t units_;
};

}  // namespace tta::pipeline

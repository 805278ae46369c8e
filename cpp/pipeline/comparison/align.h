// SPDX-License-Identifier: BSD-3-Clause
// pipeline/comparison/align.h: two traces, operator by operator, whatever their kernels
// are called.
#pragma once

#include "pipeline/comparison/call_tree.h"
#include "pipeline/report.h"

namespace tta::pipeline {

/// Aligns two trees from the root down: children of one parent by their names, and what
/// lies between two that match, as one row (a fused operator against its parts). Where
/// parents have no name in common below them, they are a row themselves.
///
/// O(n log n) in the nodes, n children of one parent or not.
Alignment align(const CallTree& before, const CallTree& after);

}  // namespace tta::pipeline

// SPDX-License-Identifier: BSD-3-Clause
// timeline/launch_calls.h: the host calls that launch work, and what came of each.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "timeline/lanes.h"
#include "timeline/links.h"
#include "trace/trace.h"

namespace tta::timeline {

/// A call that launches a kernel or a graph.
struct LaunchCall {
  std::uint32_t row = 0;
  std::uint32_t work = 0;  ///< Device rows that came of it.
};

/// Tells whether a runtime call's name says that it launches a kernel or a graph. Only
/// to notice lost records: whether a call launched something, its link decides.
bool names_a_launch(std::string_view name);

/// Lists the calls that launch a kernel or a graph and carry an id to find it by, in
/// order of rows.
///
/// A call counts by its name: one that says so, or one of whose calls at least a
/// quarter launched something (of sound traces, nearly all do or none does). Copies and
/// memsets do not count: those of no bytes have no device record (seen: cublasLt on
/// H100). Calls without a correlation share what came of their External id. Linear in
/// the rows.
std::vector<LaunchCall> list_launch_calls(const trace::Trace& trace, const Lanes& lanes,
                                          const Links& links);

}  // namespace tta::timeline

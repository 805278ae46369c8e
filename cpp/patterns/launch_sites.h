// SPDX-License-Identifier: BSD-3-Clause
// patterns/launch_sites.h: the host's time that no narrower pattern accounts for: on
// the way from one launch to the next, and pauses of which nothing is recorded.
#pragma once

#include <vector>

#include "patterns/rule.h"

namespace tta::patterns {

/// Notes the sites of launch_bound, missed_cuda_graph and, of threads without Python
/// frames, host_bound_python, of each thread that launches.
///
/// What a graph would take away is all that the thread does between two launches but
/// what it waits for, reads or copies, loads, allocates or compiles, pauses, and
/// launches for a reason with a name of its own (an unfused optimizer, a loop): those
/// are `sites`, by number of the pattern, and the loader's and memory's calls wherever
/// they are. It is of missed_cuda_graph or decode_eager_fallback where `sites` has a
/// stretch of that, else of launch_bound. A pause is what is left of
/// unrecorded_pauses().
///
/// Only for traces with device work. O(n log n) in the rows of the threads that launch.
/// Less work than `least` launched in such stretches is no way of running, and no sites
/// of launch_bound.
void note_launching(const Context& context, double least,
                    std::vector<std::vector<Mark>>& sites);

}  // namespace tta::patterns

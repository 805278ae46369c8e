// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/launch_bound/decoding.h: programs that generate text token by token.
#pragma once

#include <cstdint>
#include <set>

#include "timeline/timeline.h"

namespace tta::patterns {

/// Lists the processes that go again and again from an embedding, through the growing
/// caches of several layers, to the choice of the next token, without a backward pass.
/// Linear in the rows of threads.
std::set<std::int64_t> processes_that_decode(const timeline::Timeline& timeline);

}  // namespace tta::patterns

// SPDX-License-Identifier: BSD-3-Clause
// patterns/uncached.h: programs that run without torch's caching allocator.
#pragma once

#include <cstdint>
#include <unordered_set>

#include "timeline/timeline.h"

namespace tta::patterns {

/// Lists the processes that take memory for single tensors from the driver and give it
/// back, between launch and launch, throughout. Memory given back all at once (a cache
/// that is emptied) is no sign of it. Linear in the rows of threads.
std::unordered_set<std::int64_t> processes_without_cache(
    const timeline::Timeline& timeline);

}  // namespace tta::patterns

// SPDX-License-Identifier: BSD-3-Clause
// detector/in_threads.h: work of many like pieces, on several threads.
#pragma once

#include <cstddef>
#include <functional>

namespace tta::detector {

/// Called between batches; its exceptions propagate.
using Checkpoint = std::function<void()>;

/// Calls `work` with each of 0 to count - 1, on `threads` threads or as many as can be
/// started. The calling thread, the only one that may handle signals, calls the
/// checkpoint before each of its pieces and once after the last piece of all. The first
/// exception of any thread is rethrown after all have ended.
void for_each_piece(std::size_t count, int threads,
                    const std::function<void(std::size_t)>& work,
                    const Checkpoint& checkpoint);

}  // namespace tta::detector

// SPDX-License-Identifier: BSD-3-Clause
// detector/in_threads.h: work of many like pieces, on several threads.
#pragma once

#include <cstddef>
#include <functional>

namespace tta::detector {

/// Asked between batches; what it throws comes out.
using Checkpoint = std::function<void()>;

/// Calls `work` with each of 0 to count - 1, on so many threads or as many as there can
/// be. That of the caller, which alone may hear of signals, asks the checkpoint before
/// each of its pieces. What any of them throws comes out, once all have ended.
void for_each_piece(std::size_t count, int threads,
                    const std::function<void(std::size_t)>& work,
                    const Checkpoint& checkpoint);

}  // namespace tta::detector

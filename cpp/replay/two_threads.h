// SPDX-License-Identifier: BSD-3-Clause
// replay/two_threads.h: independent replays side by side.
#pragma once

#include <cstddef>
#include <functional>
#include <future>

namespace tta::replay {

// How work that may take long is ended from outside.

/// Called between parts of the work, in large traces several times a second. An
/// exception from it ends the work.
using Checkpoint = std::function<void()>;

inline void go_on() {}

/// Calls work(0) to work(count - 1), even ones in order on this thread, where what it
/// throws comes out, odd ones on another if there is one to be had. Returns when all
/// are done. Two, as more would make no trace seen much faster: memory is the limit.
template <class Work>
void on_two_threads(std::size_t count, const Work& work) {
  auto odd = std::async([&] {
    for (std::size_t i = 1; i < count; i += 2) work(i);
  });
  for (std::size_t i = 0; i < count; i += 2) work(i);
  odd.get();
}

}  // namespace tta::replay

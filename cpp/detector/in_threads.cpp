// SPDX-License-Identifier: BSD-3-Clause
// detector/in_threads.cpp: who is done takes the next piece.
#include "detector/in_threads.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace tta::detector {

void for_each_piece(std::size_t count, int threads,
                    const std::function<void(std::size_t)>& work,
                    const Checkpoint& checkpoint) {
  std::atomic<std::size_t> next = 0;
  std::mutex failing;
  std::exception_ptr failure;
  const auto run = [&](bool caller) {
    try {
      for (auto i = next++; i < count; i = next++) {
        if (caller) checkpoint();
        work(i);
      }
    } catch (...) {
      next = count;  // the others end too
      const std::scoped_lock lock(failing);
      if (!failure) failure = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  try {
    const auto most = std::min(count, static_cast<std::size_t>(std::max(threads, 1)));
    for (std::size_t i = 1; i < most; ++i) others.emplace_back(run, false);
  } catch (const std::system_error&) {
    // As many as there could be.
  }
  run(true);
  for (auto& other : others) other.join();
  if (failure) std::rethrow_exception(failure);
  checkpoint();  // the others may have taken every piece
}

}  // namespace tta::detector

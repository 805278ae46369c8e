// SPDX-License-Identifier: BSD-3-Clause
// trace/rows.cpp: moving batches into the columns.
#include "trace/rows.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <new>

namespace tta::trace {
namespace {

// First-touch page faults of the columns cost as much as parsing does. Huge pages are
// asked for where a column spans several of them; the system is free to ignore it.
template <typename T>
void reserve(std::vector<T>& column, std::size_t rows) {
  column.reserve(rows);
#ifdef MADV_HUGEPAGE
  constexpr std::uintptr_t kHugePage = std::uintptr_t{2} << 20;
  const auto begin = reinterpret_cast<std::uintptr_t>(column.data());
  const std::uintptr_t first = (begin + kHugePage - 1) / kHugePage * kHugePage;
  const std::uintptr_t last = (begin + rows * sizeof(T)) / kHugePage * kHugePage;
  if (last > first + kHugePage) {
    madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
  }
#endif
}

}  // namespace

void Rows::flush() {
#define TTA_MOVE(name, type, doc) \
  columns_.name.insert(columns_.name.end(), batch_.name.data(), \
                       batch_.name.data() + count_);
  TTA_COLUMNS(TTA_MOVE)
#undef TTA_MOVE
  count_ = 0;
}

void Rows::expect(std::size_t total) {
  const std::size_t capacity = columns_.ts.capacity();
  if (size() + kBatch <= capacity) return;
  // At least doubling, so that bad guesses cannot make the whole quadratic; at most
  // eightfold, so that a file with an odd beginning cannot ask for the moon.
  const std::size_t wanted =
      std::clamp(total, 2 * capacity + 16 * kBatch, 8 * capacity + (std::size_t{1} << 20));
  try {
#define TTA_RESERVE(name, type, doc) reserve(columns_.name, wanted);
    TTA_COLUMNS(TTA_RESERVE)
#undef TTA_RESERVE
  } catch (const std::bad_alloc&) {
    // A guess need not be met; what is really needed will ask again.
  }
}

}  // namespace tta::trace

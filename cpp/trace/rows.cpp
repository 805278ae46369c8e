// SPDX-License-Identifier: BSD-3-Clause
// trace/rows.cpp: moving batches into the columns, and memory for them.
#include "trace/rows.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <vector>

namespace tta::trace {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

// Touching the columns' memory for the first time, page by page, would cost half as
// much as parsing does, so large columns ask for huge pages. The size makes the block
// that malloc maps, with its header, a whole number of huge pages: such blocks are
// placed on their boundaries by Linux since 6.7. All of this is only a wish.
template <typename T>
void reserve(std::vector<T>& column, std::size_t rows) {
  std::size_t bytes = rows * sizeof(T);
  if (bytes < kHugePage / 2) {
    column.reserve(rows);
    return;
  }
  bytes = (bytes + kPage + kHugePage - 1) / kHugePage * kHugePage - kPage;
  column.reserve(bytes / sizeof(T));
#ifdef MADV_HUGEPAGE
  const auto address = reinterpret_cast<std::uintptr_t>(column.data());
  const std::uintptr_t first = address / kPage * kPage;
  const std::uintptr_t last = (address + bytes + kPage - 1) / kPage * kPage;
  madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
#endif
}

}  // namespace

void Rows::flush() {
  if (columns_.size() + count_ > columns_.ts.capacity()) grow();
#define TTA_MOVE(name, type, doc)                               \
  columns_.name.insert(columns_.name.end(), batch_.name.data(), \
                       batch_.name.data() + count_);
  TTA_COLUMNS(TTA_MOVE)
#undef TTA_MOVE
  count_ = 0;
}

// Grows by half at least, so that bad guesses cannot make the whole quadratic; and at
// most eightfold, so that a file with an odd beginning cannot ask for the moon.
void Rows::grow() {
  const std::size_t capacity = columns_.ts.capacity();
  const std::size_t least = capacity + capacity / 2 + 16 * kBatch;
  const std::size_t most = 8 * capacity + (expected_ == 0 ? 0 : std::size_t{1} << 20);
  const std::size_t rows = std::clamp(expected_, least, std::max(least, most));
  try {
#define TTA_RESERVE(name, type, doc) reserve(columns_.name, rows);
    TTA_COLUMNS(TTA_RESERVE)
#undef TTA_RESERVE
  } catch (const std::bad_alloc&) {
    // A guess need not be met; what is really needed will ask again.
  }
}

}  // namespace tta::trace

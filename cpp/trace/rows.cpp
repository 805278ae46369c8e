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

// Touching the columns' memory for the first time, page by page, would cost a third of
// the whole load, so large columns ask for huge pages. The size makes the block that
// malloc maps, with its header, a whole number of them; Linux (6.7 and later) then
// places it on their boundary. The header has touched the first one by then, which
// therefore has to be asked for again. All of this is a hint that may be ignored.
template <typename T>
void reserve(std::vector<T>& column, std::size_t rows) {
  std::size_t bytes = rows * sizeof(T);
  if (bytes < kHugePage / 4 * 3) {
    column.reserve(rows);
    return;
  }
  bytes = (bytes + kPage + kHugePage - 1) / kHugePage * kHugePage - kPage;
  column.reserve(bytes / sizeof(T));
#ifdef MADV_HUGEPAGE
  char* const block = reinterpret_cast<char*>(
      reinterpret_cast<std::uintptr_t>(column.data()) / kPage * kPage);
  madvise(block, bytes + kPage, MADV_HUGEPAGE);
  constexpr int kCollapse = 25;  // MADV_COLLAPSE of Linux 6.1; libraries lag behind
  if (reinterpret_cast<std::uintptr_t>(block) % kHugePage == 0) {
    madvise(block, kHugePage, kCollapse);
  }
#endif
}

}  // namespace

void Rows::flush() {
  make_room(count_);
#define TTA_MOVE(name, type, doc)                               \
  columns_.name.insert(columns_.name.end(), batch_.name.data(), \
                       batch_.name.data() + count_);
  TTA_COLUMNS(TTA_MOVE)
#undef TTA_MOVE
  count_ = 0;
}

void Rows::append(const Columns& columns, const std::vector<std::uint32_t>& names) {
  flush();
  make_room(columns.size());
  const std::size_t first = columns_.size();
#define TTA_COPY(name, type, doc) \
  columns_.name.insert(columns_.name.end(), columns.name.begin(), columns.name.end());
  TTA_COLUMNS(TTA_COPY)
#undef TTA_COPY
  for (std::size_t row = first; row < columns_.size(); ++row) {
    columns_.name[row] = names[columns_.name[row]];
  }
  for (auto* column : {&columns_.pid, &columns_.tid}) {
    for (std::size_t row = first; row < column->size(); ++row) {
      std::int64_t& identity = (*column)[row];
      if (identity < kTextIdentity) continue;
      const auto name = static_cast<std::size_t>(identity - kTextIdentity);
      identity = kTextIdentity + names[name];
    }
  }
}

void Rows::make_room(std::size_t rows) {
  const std::size_t needed = columns_.size() + rows;
  if (needed > columns_.ts.capacity()) grow(needed);
}

// What is reserved and never touched costs address space only, so growth is generous:
// each time it happens, all columns are copied. The first guess waits until there are
// rows enough to guess from, and none may ask for more than 64 times what there
// is, so that a file with an odd beginning cannot ask for the moon.
void Rows::grow(std::size_t needed) {
  constexpr std::size_t kFirst = 32 * kBatch;
  const std::size_t capacity = columns_.ts.capacity();
  const std::size_t least = std::max(needed, capacity == 0 ? kFirst : 3 * capacity);
  const std::size_t rows = std::clamp(expected_, least, std::max(least, 64 * capacity));
  try {
#define TTA_RESERVE(name, type, doc) reserve(columns_.name, rows);
    TTA_COLUMNS(TTA_RESERVE)
#undef TTA_RESERVE
  } catch (const std::bad_alloc&) {
    // The size is a guess and may fail; the rows that are needed allocate again.
  }
}

}  // namespace tta::trace

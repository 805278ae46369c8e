// SPDX-License-Identifier: BSD-3-Clause
// trace/rows.h: builds the columns, a batch of rows at a time.
//
// Appending to sixteen vectors would cost sixteen capacity checks an event. Rows are
// laid out in a batch that stays in the L1 cache and moved over in bulk.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "trace/columns.h"

namespace tta::trace {

/// One event, before it is a row.
struct Row {
#define TTA_FIELD(name, type, doc) type name;
  TTA_COLUMNS(TTA_FIELD)
#undef TTA_FIELD
};

inline constexpr Row kEmptyRow = {
    .name = 0,
    .category = static_cast<std::uint8_t>(Category::kUnknown),
    .phase = '?',
    .ts = kNoTime,
    .dur = kNoTime,
    .pid = kNoId,
    .tid = kNoId,
    .device = -1,
    .stream = kNoId,
    .correlation = kNoId,
    .external_id = kNoId,
    .python_id = kNoId,
    .python_parent_id = kNoId,
    .sequence = kNoId,
    .args_offset = 0,
    .args_length = 0,
};

class Rows {
 public:
  explicit Rows(Columns& columns) : columns_(columns) {}

  void append(const Row& row) {
#define TTA_STORE(name, type, doc) batch_.name[count_] = row.name;
    TTA_COLUMNS(TTA_STORE)
#undef TTA_STORE
    if (++count_ == kBatch) flush();
  }

  /// Moves the open batch into the columns.
  void flush();

  /// Appends rows whose name n, also where a pid or tid is a text, is here names[n].
  void append(const Columns& columns, const std::vector<std::uint32_t>& names);

  /// Tells how many rows there will be in all, about. Address space, not memory: a
  /// good guess spares the copies of a growing vector, a bad one costs little.
  void expect(std::size_t total) { expected_ = total; }

  /// How many rows there are, the open batch included.
  std::size_t size() const { return columns_.size() + count_; }

 private:
  static constexpr std::size_t kBatch = 256;
  struct Batch {
#define TTA_ARRAY(name, type, doc) std::array<type, kBatch> name;
    TTA_COLUMNS(TTA_ARRAY)
#undef TTA_ARRAY
  };

  void make_room(std::size_t rows);
  void grow(std::size_t needed);

  Columns& columns_;
  std::size_t expected_ = 0;
  std::size_t count_ = 0;
  Batch batch_;
};

}  // namespace tta::trace

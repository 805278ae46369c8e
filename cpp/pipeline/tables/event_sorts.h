// SPDX-License-Identifier: BSD-3-Clause
// pipeline/tables/event_sorts.h: the kind of an event, and a letter for its ids.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "pipeline/report.h"

namespace tta::pipeline {

/// The kind of an event, and the letter of its ids: o an operator, c a runtime call, k
/// device work, f a Python frame, a a range.
struct SortOfEvent {
  std::string_view kind;
  char letter = 'o';
};

/// Returns it of each row; "frame" of a Python frame. Rows that are on no lane are
/// "other". Throws std::out_of_range for a row that is not there.
std::vector<SortOfEvent> sorts_of(const Report& report,
                                  std::span<const std::uint32_t> rows);

}  // namespace tta::pipeline

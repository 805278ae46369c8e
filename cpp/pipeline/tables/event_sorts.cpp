// SPDX-License-Identifier: BSD-3-Clause
// pipeline/tables/event_sorts.cpp: letters by the features' kinds.
#include "pipeline/tables/event_sorts.h"

#include <cstddef>
#include <stdexcept>
#include <string>

#include "features/kind.h"

namespace tta::pipeline {
namespace {

SortOfEvent sort_of(features::Kind kind) {
  const auto name = features::kinds()[static_cast<std::size_t>(kind)].name;
  if (features::is_operator(kind)) return {name, 'o'};
  if (features::is_call(kind)) return {name, 'c'};
  return {name, features::is_device(kind) ? 'k' : 'a'};
}

}  // namespace

std::vector<SortOfEvent> sorts_of(const Report& report,
                                  std::span<const std::uint32_t> rows) {
  const auto& t = *report.timeline;
  const auto kinds = features::kinds_of_rows(t);
  std::vector<SortOfEvent> out;
  for (const auto row : rows) {
    if (row >= kinds.size()) {
      throw std::out_of_range("there is no row " + std::to_string(row));
    }
    const bool frame = t.columns().cat(row) == trace::Category::kPythonFunction;
    out.push_back(frame ? SortOfEvent{"frame", 'f'} : sort_of(kinds[row]));
  }
  return out;
}

}  // namespace tta::pipeline

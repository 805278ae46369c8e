// SPDX-License-Identifier: BSD-3-Clause
// detector/columns.h: the token columns that are figures, how they are read, and what
// is usual.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "detector/arrays.h"

namespace tta::detector {

/// Whether a token column of this unit is a figure: not a word of a name, the number of
/// a thing or an edge.
constexpr bool is_figure(std::string_view unit) {
  return unit != "hash" && unit != "number" && unit != "token";
}

/// How many figures a token has.
inline constexpr std::size_t kFigures = 0
#define TTA_ONE(name, type, unit, normalization, missing, doc) +is_figure(unit)
    TTA_TOKENS(TTA_ONE)
#undef TTA_ONE
    ;

/// Returns how many windows these values are of, in rows of `columns`. Throws
/// std::invalid_argument if the rows are not whole.
std::size_t count_rows(std::span<const float> windows, std::size_t columns);

/// Appends kFigures values for each of these tokens, in the order of the table: counts
/// as log2(1 + n), NaN for what the table says is missing.
void read_figures(const Arrays& arrays, std::span<const std::int64_t> tokens,
                  std::vector<float>& out);

/// Mean and deviation of each column, of those values that are not missing.
class Usual {
 public:
  explicit Usual(std::size_t columns)
      : count_(columns), sum_(columns), squares_(columns) {}

  /// Adds rows of as many columns.
  void add(std::span<const float> rows);
  std::vector<float> mean() const;
  /// 1 of a column that is all but constant or never had a value: it divides, and what
  /// never varied in training is not to be blown up where it does.
  std::vector<float> deviation() const;

 private:
  std::vector<double> count_, sum_, squares_;
};

}  // namespace tta::detector

// SPDX-License-Identifier: BSD-3-Clause
// detector/columns.h: which columns are figures, how they are read, and what is usual.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "detector/arrays.h"

namespace tta::detector {

/// The token columns that are figures, in the order of the table: not the words of
/// names, numbers of things or edges.
const std::vector<std::string_view>& figure_columns();

/// The patterns that a type is told for: those of the columns by cause.
const std::vector<std::string>& pattern_names();

/// Whose code has to change for each of them: 0 the CPU's, 1 the GPU's.
const std::vector<std::size_t>& pattern_sides();

/// What is said of a window, by the network and by trees: any CPU, any GPU, each of
/// pattern_names(), recoverable.
inline std::size_t output_count() { return 2 + pattern_names().size() + 1; }

/// Returns how many windows these values are of, in rows of all window columns. Throws
/// std::invalid_argument if the rows are not whole.
std::size_t count_rows(std::span<const float> windows);

/// Returns 16 hexadecimal digits that change with the names and order of patterns.
const std::string& pattern_fingerprint();

/// Appends figure_columns().size() values for each of these tokens: counts as log2(1 +
/// n), NaN for what the table says is missing.
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

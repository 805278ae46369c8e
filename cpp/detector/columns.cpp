// SPDX-License-Identifier: BSD-3-Clause
// detector/columns.cpp: figures of tokens by the feature table.
#include "detector/columns.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

namespace tta::detector {
namespace {

template <typename T>
float figure(T value, std::string_view unit, std::string_view missing) {
  const auto number = static_cast<float>(value);
  if (!missing.empty() && number == -1) return std::numeric_limits<float>::quiet_NaN();
  return unit == "count" ? std::log2(1 + number) : number;
}

}  // namespace

std::size_t count_rows(std::span<const float> windows, std::size_t columns) {
  if (windows.size() % columns != 0) {
    throw std::invalid_argument("windows must have " + std::to_string(columns) +
                                " columns, and there are " +
                                std::to_string(windows.size()) + " values");
  }
  return windows.size() / columns;
}

void read_figures(const Arrays& a, std::span<const std::int64_t> tokens,
                  std::vector<float>& out) {
  const auto first = out.size();
  out.resize(first + tokens.size() * kFigures);
  // Column by column: the type of each is known where its loop is compiled.
  std::size_t at = 0;
#define TTA_READ(name, type, unit, normalization, missing, doc)       \
  if constexpr (is_figure(unit)) {                                    \
    for (std::size_t i = 0; i < tokens.size(); ++i) {                 \
      const auto value = a.name[static_cast<std::size_t>(tokens[i])]; \
      out[first + i * kFigures + at] = figure(value, unit, missing);  \
    }                                                                 \
    ++at;                                                             \
  }
  TTA_TOKENS(TTA_READ)
#undef TTA_READ
}

void Usual::add(std::span<const float> rows) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double value = rows[i];
    if (std::isnan(value)) continue;
    const auto column = i % count_.size();
    count_[column] += 1;
    sum_[column] += value;
    squares_[column] += value * value;
  }
}

std::vector<float> Usual::mean() const {
  std::vector<float> out(count_.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (count_[i] > 0) out[i] = static_cast<float>(sum_[i] / count_[i]);
  }
  return out;
}

std::vector<float> Usual::deviation() const {
  std::vector<float> out(count_.size(), 1.0f);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (count_[i] == 0) continue;
    const auto mean = sum_[i] / count_[i];
    const auto variance = std::max(0.0, squares_[i] / count_[i] - mean * mean);
    if (variance > 1e-4) out[i] = static_cast<float>(std::sqrt(variance));
  }
  return out;
}

}  // namespace tta::detector

// SPDX-License-Identifier: BSD-3-Clause
// detector/arrays.cpp: refuses arrays that no trace gives.
#include "detector/arrays.h"

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tta::detector {
namespace {

[[noreturn]] void refuse(std::string_view column, const std::string& what) {
  throw std::invalid_argument("arrays: " + std::string(column) + " " + what);
}

struct Bounds {
  double low = std::numeric_limits<float>::lowest();
  double high = std::numeric_limits<float>::max();
};

Bounds bounds_of(const features::ColumnInfo& column, std::size_t tokens) {
  const auto none = column.missing.empty() ? 0.0 : -1.0;
  if (column.unit == "token") return {-1, static_cast<double>(tokens) - 1};
  if (column.unit == "hash") return {0, features::kPieceHashes};
  if (column.name == "kind") {
    static const auto kKinds = features::definition().kinds.size();
    return {0, static_cast<double>(kKinds) - 1};
  }
  if (column.name == "lane_kind") return {0, 3};
  return {none, Bounds{}.high};
}

template <typename T>
void check_column(std::span<const T> values, std::size_t tokens,
                  const features::ColumnInfo& column) {
  if (values.size() != tokens) {
    refuse(column.name, "has " + std::to_string(values.size()) + " values for " +
                            std::to_string(tokens) + " tokens");
  }
  const auto bounds = bounds_of(column, tokens);
  for (std::size_t i = 0; i < tokens; ++i) {
    const auto value = static_cast<double>(values[i]);
    // Written so that NaN is refused too.
    if (!(value >= bounds.low && value <= bounds.high)) {
      refuse(column.name, "of token " + std::to_string(i) + " is " +
                              std::to_string(value) + ", which no trace contains");
    }
  }
}

}  // namespace

void check(const Arrays& a) {
  const auto columns = features::window_columns();
  if (a.token_begin.empty()) refuse("token_begin", "is empty; it must begin with 0");
  if (a.windows.size() != a.count() * columns.size()) {
    refuse("windows", "must hold " + std::to_string(columns.size()) + " columns for " +
                          std::to_string(a.count()) + " windows, not " +
                          std::to_string(a.windows.size()) + " values");
  }
  for (std::size_t i = 0; i < a.windows.size(); ++i) {
    const auto& column = columns[i % columns.size()];
    const auto value = a.windows[i];
    if (std::isnan(value) ? column.missing.empty() : !std::isfinite(value)) {
      refuse(column.name, "of window " + std::to_string(i / columns.size()) + " is " +
                              std::to_string(value) + ", which no trace contains");
    }
  }
  std::int64_t last = 0;
  for (std::size_t i = 0; i < a.token_begin.size(); ++i) {
    const auto begin = a.token_begin[i];
    if (begin < last || (i == 0 && begin != 0)) {
      refuse("token_begin", "must rise from 0, but [" + std::to_string(i) + "] is " +
                                std::to_string(begin));
    }
    last = begin;
  }
  if (static_cast<std::size_t>(last) != a.tokens()) {
    refuse("token_begin", "ends at " + std::to_string(last) + ", and there are " +
                              std::to_string(a.tokens()) + " tokens");
  }
  const auto infos = features::token_columns();
  std::size_t at = 0;
#define TTA_CHECK(name, type, unit, normalization, missing, doc) \
  check_column(a.name, a.tokens(), infos[at++]);
  TTA_TOKENS(TTA_CHECK)
#undef TTA_CHECK
}

}  // namespace tta::detector

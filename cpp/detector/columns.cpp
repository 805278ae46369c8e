// SPDX-License-Identifier: BSD-3-Clause
// detector/columns.cpp: figures of tokens by the feature table.
#include "detector/columns.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "patterns/pattern.h"

namespace tta::detector {
namespace {

constexpr bool is_figure(std::string_view unit) {
  return unit != "hash" && unit != "number" && unit != "token";
}

constexpr std::size_t kFigures = 0
#define TTA_ONE(name, type, unit, normalization, missing, doc) +is_figure(unit)
    TTA_TOKENS(TTA_ONE)
#undef TTA_ONE
    ;

template <typename T>
float figure(T value, std::string_view unit, std::string_view missing) {
  const auto number = static_cast<float>(value);
  if (!missing.empty() && number == -1) return std::numeric_limits<float>::quiet_NaN();
  return unit == "count" ? std::log2(1 + number) : number;
}

}  // namespace

const std::vector<std::string_view>& figure_columns() {
  static const auto kNames = [] {
    std::vector<std::string_view> out;
    for (const auto& column : features::token_columns()) {
      if (is_figure(column.unit)) out.push_back(column.name);
    }
    return out;
  }();
  return kNames;
}

const std::vector<std::string>& pattern_names() {
  static const auto kNames = [] {
    std::vector<std::string> out;
    for (const auto& c : features::window_columns().subspan(features::kStatistics)) {
      out.emplace_back(c.name.substr(std::string_view("cause_").size()));
    }
    return out;
  }();
  return kNames;
}

const std::vector<std::size_t>& pattern_sides() {
  static const auto kSides = [] {
    std::vector<std::size_t> out;
    for (const auto& name : pattern_names()) {
      const auto all = patterns::patterns();
      const auto found = std::find_if(all.begin(), all.end(),
                                      [&](const auto& p) { return p.name == name; });
      // What is no pattern any more counts for neither side; it has to be on one.
      out.push_back(found == all.end() || found->side == patterns::PatternSide::kGpu);
    }
    return out;
  }();
  return kSides;
}

std::size_t count_rows(std::span<const float> windows) {
  const auto columns = features::window_columns().size();
  if (windows.size() % columns != 0) {
    throw std::invalid_argument("windows must have " + std::to_string(columns) +
                                " columns, and there are " +
                                std::to_string(windows.size()) + " values");
  }
  return windows.size() / columns;
}

const std::string& pattern_fingerprint() {
  static const auto kFingerprint = [] {
    features::Definition only;
    only.version = 0;
    only.kinds.assign(pattern_names().begin(), pattern_names().end());
    return features::fingerprint_of(only);
  }();
  return kFingerprint;
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

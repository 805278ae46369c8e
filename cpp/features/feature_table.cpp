// SPDX-License-Identifier: BSD-3-Clause
// features/feature_table.cpp: the tables as data, and their fingerprint.
#include "features/feature_table.h"

#include <array>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "features/kind.h"
#include "patterns/pattern.h"

namespace tta::features {
namespace {

template <typename T>
constexpr std::string_view type_name() {
  if constexpr (std::is_same_v<T, float>) return "float32";
  if constexpr (std::is_same_v<T, std::int8_t>) return "int8";
  if constexpr (std::is_same_v<T, std::uint8_t>) return "uint8";
  if constexpr (std::is_same_v<T, std::uint16_t>) return "uint16";
  if constexpr (std::is_same_v<T, std::int32_t>) return "int32";
}

constexpr std::array kStatisticColumns = {
#define TTA_INFO(name, unit, normalization, missing, doc) \
  ColumnInfo{#name, "float32", unit, normalization, missing, doc},
    TTA_FEATURES(TTA_INFO)
#undef TTA_INFO
};

// Of a number that cannot be missing nothing is said.
constexpr std::string_view missing_token(std::string_view name) {
  for (const std::string_view always :
       {"kind", "piece0", "piece1", "piece2", "piece3", "piece4", "piece5", "lane",
        "lane_kind", "depth", "place", "duration", "duration_ratio", "gap", "gap_ratio",
        "waits", "repeats"}) {
    if (name == always) return "";
  }
  return "it has none";
}

constexpr std::array kTokenColumns = {
#define TTA_INFO(name, type, unit, normalization, doc) \
  ColumnInfo{#name, type_name<type>(), unit, normalization, missing_token(#name), doc},
    TTA_TOKENS(TTA_INFO)
#undef TTA_INFO
};

std::string make_fingerprint() {
  auto state = hash("torchtraceap features");
  const auto add = [&](std::string_view text) {
    state = hash(text, state);
    state = hash(std::string_view("\n", 1), state);
  };
  for (const auto columns : {window_columns(), token_columns()}) {
    for (const auto& column : columns) {
      add(column.name);
      add(column.type);
      add(column.unit);
      add(column.normalization);
    }
    add("");
  }
  for (const auto& kind : kinds()) add(kind.name);
  std::string out(16, '0');
  for (std::size_t i = out.size(); i-- > 0; state >>= 4) {
    out[i] = "0123456789abcdef"[state & 15];
  }
  return out;
}

}  // namespace

std::span<const ColumnInfo> window_columns() {
  static const auto kAll = [] {
    std::vector<ColumnInfo> out(kStatisticColumns.begin(), kStatisticColumns.end());
    static std::vector<std::string> names;  // what the views refer to
    for (const auto& pattern : patterns::patterns()) {
      names.push_back("cause_" + std::string(pattern.name));
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
      out.push_back({names[i], "float32", "share", "window", "",
                     patterns::patterns()[i].summary});
    }
    return out;
  }();
  return kAll;
}

std::span<const ColumnInfo> token_columns() { return kTokenColumns; }

const std::string& fingerprint() {
  static const std::string kFingerprint = make_fingerprint();
  return kFingerprint;
}

std::uint64_t hash(std::string_view text, std::uint64_t seed) {
  for (const auto ch : text) {
    seed = (seed ^ static_cast<unsigned char>(ch)) * 0x100000001b3u;
  }
  return seed;
}

}  // namespace tta::features

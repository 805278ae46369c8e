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

// Columns and kinds that hold other values than they once did under the same name, and
// their versions: {"window.busy", 2}, {"token.gap", 2}, {"kind.view", 2}. Weights that
// know an earlier version are given a default instead (detector/tables.h). All others
// are of version 1.
struct Raised {
  std::string_view what;
  int version;
};
constexpr std::array<Raised, 0> kRaised = {};

int version_of(const std::string& what) {
  for (const auto& raised : kRaised) {
    if (raised.what == what) return raised.version;
  }
  return 1;
}

ColumnInfo with_version(const char* table, ColumnInfo column) {
  column.version = version_of(table + std::string(column.name));
  return column;
}

#define TTA_INFO(name, type, unit, normalization, missing, doc) \
  ColumnInfo{#name, type_name<type>(), unit, normalization, missing, doc},
constexpr std::array kStatisticColumns = {TTA_FEATURES(TTA_INFO)};
constexpr std::array kTokenColumns = {TTA_TOKENS(TTA_INFO)};
#undef TTA_INFO

}  // namespace

std::span<const ColumnInfo> window_columns() {
  static const auto kAll = [] {
    std::vector<ColumnInfo> out(kStatisticColumns.begin(), kStatisticColumns.end());
    static std::vector<std::string> names;  // what the views refer to
    for (const auto& pattern : patterns::patterns()) {
      names.push_back("cause_" + std::string(pattern.name));
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
      out.push_back({names[i], "float32", "share", "window", "unusable trace",
                     patterns::patterns()[i].summary});
    }
    for (auto& column : out) column = with_version("window.", column);
    return out;
  }();
  return kAll;
}

std::span<const ColumnInfo> token_columns() {
  static const auto kAll = [] {
    auto out = kTokenColumns;
    for (auto& column : out) column = with_version("token.", column);
    return out;
  }();
  return kAll;
}

Definition definition() {
  Definition out;
  out.windows.assign(window_columns().begin(), window_columns().end());
  out.tokens.assign(token_columns().begin(), token_columns().end());
  for (std::size_t i = 0; i < kKinds; ++i) {
    const auto general = general_kind(static_cast<Kind>(i));
    const auto name = kinds()[i].name;
    out.kinds.push_back({name, version_of("kind." + std::string(name)),
                         kinds()[static_cast<std::size_t>(general)].name});
  }
  return out;
}

std::string fingerprint_of(const Definition& definition) {
  auto state = hash("torchtraceap features");
  const auto add = [&](std::string_view text) {
    state = hash(text, state);
    state = hash(std::string_view("\n", 1), state);
  };
  for (const auto* columns : {&definition.windows, &definition.tokens}) {
    for (const auto& column : *columns) {
      add(column.name);
      add(column.type);
      add(column.unit);
      add(column.normalization);
      add(column.missing);
      add(std::to_string(column.version));
    }
    add("");
  }
  for (const auto& kind : definition.kinds) {
    add(kind.name);
    add(std::to_string(kind.version));
  }
  add(std::to_string(definition.pieces));
  add(std::to_string(definition.piece_hashes));
  std::string out(16, '0');
  for (std::size_t i = out.size(); i-- > 0; state >>= 4) {
    out[i] = "0123456789abcdef"[state & 15];
  }
  return out;
}

const std::string& fingerprint() {
  static const std::string kFingerprint = fingerprint_of(definition());
  return kFingerprint;
}

std::uint64_t hash(std::string_view text, std::uint64_t seed) {
  for (const auto ch : text) {
    seed = (seed ^ static_cast<unsigned char>(ch)) * 0x100000001b3u;
  }
  return seed;
}

}  // namespace tta::features

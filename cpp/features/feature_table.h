// SPDX-License-Identifier: BSD-3-Clause
// features/feature_table.h: what each column of the arrays is, for those who read them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "features/token_columns.h"
#include "features/window_columns.h"

namespace tta::features {

struct ColumnInfo {
  std::string_view name, type;
  std::string_view unit;
  std::string_view normalization;  ///< What it is divided by; "" if by nothing.
  /// When a value is missing: NaN in windows, -1 in tokens; "" if it never is.
  std::string_view missing;
  std::string_view doc;
};

/// Statistics that are computed here; the columns by cause come after them.
inline constexpr std::size_t kStatistics = 0
#define TTA_ONE(name, type, unit, normalization, missing, doc) +1
    TTA_FEATURES(TTA_ONE)
#undef TTA_ONE
    ;

/// The columns of a window: the statistics, then the wasted share by each pattern of
/// the pattern table, named after it, then those of patterns that are none any more.
std::span<const ColumnInfo> window_columns();

/// The columns of a token.
std::span<const ColumnInfo> token_columns();

/// Raised whenever a column comes to hold other values than before, under the same
/// name: nothing else tells that what was trained before is to be refused.
inline constexpr int kFeatureVersion = 2;

/// What the arrays are, as far as who reads them depends on it.
struct Definition {
  int version = kFeatureVersion;
  std::vector<ColumnInfo> windows, tokens;
  std::vector<std::string_view> kinds;  ///< Their names, by number.
  int pieces = kPieces;
  std::uint32_t piece_hashes = kPieceHashes;
};
Definition definition();

/// Returns 16 hexadecimal digits that change with any field of a definition but what
/// columns are in words (ColumnInfo::doc).
std::string fingerprint_of(const Definition& definition);

/// Returns that of definition(): what was trained on arrays of another one is to be
/// refused.
const std::string& fingerprint();

/// The hash behind it and behind the words of names: FNV-1a, 64 bits, the same on every
/// machine.
std::uint64_t hash(std::string_view text, std::uint64_t seed = 0xcbf29ce484222325u);

}  // namespace tta::features

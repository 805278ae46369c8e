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
  std::string_view normalization;  ///< The divisor; "" if there is none.
  /// When a value is missing: NaN in windows, -1 in tokens; "" if it never is.
  std::string_view missing;
  std::string_view doc;
  int version = 1;  ///< Raised when it comes to hold other values under its name.
};

/// Statistics that are computed here; the columns by cause come after them.
inline constexpr std::size_t kStatistics = 0
#define TTA_ONE(name, type, unit, normalization, missing, doc) +1
    TTA_FEATURES(TTA_ONE)
#undef TTA_ONE
    ;

/// The columns of a window: the statistics, then the wasted share by each pattern of
/// the pattern table, named after it.
std::span<const ColumnInfo> window_columns();

/// The columns of a token.
std::span<const ColumnInfo> token_columns();

/// A kind of event; its version is raised when other events come to be of it.
struct KindInTable {
  std::string_view name;
  int version = 1;
  std::string_view general;  ///< Of its sort the kind of all others: general_kind().
};

/// What the arrays are, as far as their readers depend on it.
struct Definition {
  std::vector<ColumnInfo> windows, tokens;
  std::vector<KindInTable> kinds;  ///< By number.
  int pieces = kPieces;
  std::uint32_t piece_hashes = kPieceHashes;
};
Definition definition();

/// Returns 16 hexadecimal digits that change with any field of a definition but what
/// columns are in words (ColumnInfo::doc).
std::string fingerprint_of(const Definition& definition);

/// Returns that of definition(): arrays that were kept with another one are not these.
const std::string& fingerprint();

/// The hash behind it and behind the words of names: FNV-1a, 64 bits, the same on every
/// machine.
std::uint64_t hash(std::string_view text, std::uint64_t seed = 0xcbf29ce484222325u);

}  // namespace tta::features

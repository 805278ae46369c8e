// SPDX-License-Identifier: BSD-3-Clause
// features/feature_table.h: what each column of the arrays is, for those who read them.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

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
#define TTA_ONE(name, unit, normalization, missing, doc) +1
    TTA_FEATURES(TTA_ONE)
#undef TTA_ONE
    ;

/// The columns of a window: the statistics, then the wasted share by each pattern of
/// the pattern table, named after it.
std::span<const ColumnInfo> window_columns();

/// The columns of a token.
std::span<const ColumnInfo> token_columns();

/// Returns 16 hexadecimal digits that change with the name, type, unit, normalization
/// or place of any column, and with the kinds: what was trained on other arrays is to
/// be refused. Docs and the time of building are no part of it.
const std::string& fingerprint();

/// The hash behind it and behind the words of names: FNV-1a, 64 bits, the same on every
/// machine.
std::uint64_t hash(std::string_view text, std::uint64_t seed = 0xcbf29ce484222325u);

}  // namespace tta::features

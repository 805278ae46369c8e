// SPDX-License-Identifier: BSD-3-Clause
// detector/arrays.h: the arrays of a trace as the detector reads them: views, checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "features/feature_table.h"

namespace tta::detector {

/// Views of the data in features::Features, whose owner keeps the memory.
struct Arrays {
  std::span<const float> windows;  ///< window_columns().size() values for each window.
  std::span<const std::int64_t> token_begin;
#define TTA_VIEW(name, type, unit, normalization, missing, doc) \
  std::span<const type> name;
  TTA_TOKENS(TTA_VIEW)
#undef TTA_VIEW

  std::size_t count() const { return token_begin.empty() ? 0 : token_begin.size() - 1; }
  std::size_t tokens() const { return kind.size(); }
};

/// Throws std::invalid_argument, with a message that names column and place, unless the
/// arrays are such as features::make_features makes: of fitting lengths, edges and
/// numbers within what they number, values finite but where a window's may be NaN.
/// Linear; nothing else of this part looks again.
void check(const Arrays& arrays);

}  // namespace tta::detector

// SPDX-License-Identifier: BSD-3-Clause
// patterns/attention.h: attention that ran as separate operators.
#pragma once

#include <cstdint>
#include <vector>

#include "patterns/device_work.h"
#include "patterns/rule.h"

namespace tta::patterns {

/// Attention as batched product, softmax, batched product, or its backward pass.
struct Attention {
  std::uint32_t softmax = kNoRow;
  /// The operators between the products that a fused kernel does on the fly: scale,
  /// mask, softmax, dropout. In order of time.
  std::vector<std::uint32_t> saved;
  /// The products around, which a fused kernel replaces as well; in the backward pass
  /// also the one right before and after them, with nothing between.
  std::vector<std::uint32_t> products;
};

/// Finds the attentions of all threads. Nothing but what scales, masks or prepares an
/// operand may stand between the two products, and where sizes are known, the first
/// one's result has to fit the second. Linear in the rows.
std::vector<Attention> find_attentions(const Context& context,
                                       const LaunchedWork& launched);

}  // namespace tta::patterns

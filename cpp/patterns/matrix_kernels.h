// SPDX-License-Identifier: BSD-3-Clause
// patterns/matrix_kernels.h: how much work matrix products and convolutions are.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "timeline/event_args.h"
#include "timeline/timeline.h"

namespace tta::patterns {

/// What an operator computes, as far as the sizes of its inputs tell.
struct Product {
  bool convolution = false;
  double flops = 0;            ///< Two for each multiplication with addition.
  double bytes = 0;            ///< Inputs and result, each once.
  std::int64_t rows = 0;       ///< m of [m, k] x [k, n]; 0 of a convolution.
  std::int64_t inner = 0;      ///< k.
  std::int64_t columns = 0;    ///< n.
  std::string_view data_type;  ///< Of both inputs, as torch names it: "float".

  /// FLOPs a byte: how far from being limited by memory.
  double intensity() const { return flops / bytes; }
};

/// Returns what an operator computes; none if it is neither, or if sizes or types are
/// missing, odd, or differ between the inputs.
///
/// A convolution's stride is not in the sizes of its forward operator, nor its kernel's
/// size in those of cudnn_convolution_backward_weight: a stride of 2 and a kernel of 1
/// are assumed, so that `intensity` is seldom too high. `data_type` refers to `args`.
std::optional<Product> product_of(std::string_view operator_name,
                                  const timeline::OpArgs& args);

}  // namespace tta::patterns

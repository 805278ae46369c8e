// SPDX-License-Identifier: BSD-3-Clause
// work/operator_work.h: how much arithmetic and memory traffic an operator is, by the
// sizes, types and values of its inputs.
//
// Needs traces recorded with record_shapes=True. An operator that is not in the table,
// or whose sizes are missing, odd or contradict each other, has no answer: never a
// guess. Flops of products, convolutions and attention agree with those of
// torch.utils.flop_counter (tests/python/test_roofline.py), except that a causal
// attention counts only what its mask leaves.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "timeline/event_args.h"

namespace tta::work {

/// By which peak an operator is judged, and what helps it.
enum class WorkClass : std::uint8_t {
  kProduct,      ///< Of matrices.
  kConvolution,  ///< Forward, and both gradients.
  kAttention,    ///< Fused: flash, efficient, cuDNN.
  kElementwise,
  kReduction,
  kNorm,  ///< Normalizations and softmax.
  kMove,  ///< Copies, fills and lookups: no arithmetic.
};
constexpr auto words_of(WorkClass) {
  return std::array<std::string_view, 7>{"product",     "convolution", "attention",
                                         "elementwise", "reduction",   "norm",
                                         "move"};
}

struct OperatorWork {
  WorkClass work_class = WorkClass::kElementwise;
  /// Two for each multiplication with addition. Of elementwise operators one for each
  /// element, of norms about five: they are bound by memory anyway.
  double flops = 0;
  /// The least that has to move: each input and output once, without what a cache
  /// could save or a workspace add.
  double bytes = 0;
  std::string data_type;  ///< Of the first input, as torch names it: "c10::Half".
  /// False where strides and causal masks are not recorded (before torch 2.1): flops
  /// are then those of a stride of 2, the fewest that are usual, and of no mask. Also
  /// of rows that are added up where an index says: how many are the same is not
  /// recorded.
  bool exact = true;

  // What makes kernels slow; 0 where it is of another class.
  std::int64_t rows = 0, inner = 0, columns = 0;  ///< Of a product: m, k, n.
  /// Of an attention: and the shorter of its queries and keys.
  std::int64_t head_size = 0, length = 0;
  bool backward = false;  ///< Of an attention.
  /// Of a convolution: channels that each output meets, and elements of the window.
  std::int64_t channels = 0, window = 0;
  bool depthwise = false, dilated = false, transposed = false;
  /// Of a norm over the last dimension: bytes of a row; 0 of others.
  std::int64_t row_bytes = 0;
  bool strided = false;  ///< Inputs have gaps, or lie in memory in different orders.

  double intensity() const { return flops / bytes; }  ///< FLOPs a byte.
};

/// Returns what a call is; none if that is unknown. `around` are the inputs of the
/// operator that called it, which hold sizes that gradients of old torch lack; or null.
std::optional<OperatorWork> work_of(std::string_view operator_name,
                                    const timeline::OpArgs& inputs,
                                    const timeline::OpArgs* around = nullptr);

/// Returns the sizes of input, weight and output of a convolution's gradient; empty for
/// other operators.
std::array<std::vector<std::int64_t>, 3> convolved(std::string_view operator_name,
                                                   const timeline::OpArgs& inputs);
/// Makes the work of a convolution without a stride exact by the size of its output.
void settle(OperatorWork& work, const timeline::OpArgs& inputs,
            const std::vector<std::int64_t>& output);

}  // namespace tta::work

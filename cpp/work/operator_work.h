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

/// The recorded inputs of one call.
struct OperatorInputs {
  timeline::OpArgs sizes;  ///< Of tensors, except those in lists.
  /// Of numbers, flags and lists of numbers, as written: "[1, 1]", "True", "2"; "" of
  /// tensors and None. Since torch 2.1.
  std::vector<std::string> values;
};

/// Reads the args of an operator's event.
OperatorInputs read_inputs(std::string_view args);

struct OperatorWork {
  WorkClass work_class = WorkClass::kElementwise;
  /// Two for each multiplication with addition. Of elementwise operators one for each
  /// element, of norms about five: they are bound by memory anyway.
  double flops = 0;
  /// The least that has to move: each input and output once, without what a cache
  /// could save or a workspace add.
  double bytes = 0;
  std::string data_type;  ///< Of the first input, as torch names it: "c10::Half".
};

/// Returns what a call is; none if that is unknown.
std::optional<OperatorWork> work_of(std::string_view operator_name,
                                    const OperatorInputs& inputs);

}  // namespace tta::work

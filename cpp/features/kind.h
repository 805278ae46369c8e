// SPDX-License-Identifier: BSD-3-Clause
// features/kind.h: what an event is, by category and name.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "timeline/timeline.h"

namespace tta::features {

// id, name, what it is
#define TTA_KINDS(X)                                                         \
  X(kOther, "other", "an operator of no kind below")                         \
  X(kView, "view", "makes a view of a tensor")                               \
  X(kReserve, "reserve", "reserves memory: aten::empty and similar")         \
  X(kElementwise, "elementwise", "arithmetic on each element")               \
  X(kMatrix, "matrix", "product, convolution, attention, recurrent layer")   \
  X(kReduce, "reduce", "reduction, norm, softmax, pool, loss, sort")         \
  X(kIndex, "index", "index, gather, scatter, embedding, cat, stack")        \
  X(kCopy, "copy", "copy or cast")                                           \
  X(kFill, "fill", "zeros, ones, fill")                                      \
  X(kRandom, "random", "random numbers, dropout")                            \
  X(kRead, "read",                                                           \
    "the host reads a value, or a shape that depends on a tensor's values")  \
  X(kOptimizer, "optimizer", "foreach or fused optimizer, optimizer's mark") \
  X(kCollective, "collective", "of torch.distributed or its backend")        \
  X(kBackward, "backward", "node of the backward graph")                     \
  X(kCompiled, "compiled", "of torch.compile")                               \
  X(kQuantize, "quantize", "quantize or dequantize")                         \
  X(kCollect, "collect", "Python's garbage collector")                       \
  X(kStep, "step", "the profiler's step")                                    \
  X(kLoader, "loader", "the data loader's mark")                             \
  X(kRange, "range", "any other range of the program")                       \
  X(kLaunch, "launch", "call that launches a kernel")                        \
  X(kGraphLaunch, "graph_launch", "call that launches a graph")              \
  X(kWait, "wait", "call that waits for a device by its name")               \
  X(kCopyCall, "copy_call", "call that copies or sets memory")               \
  X(kMemory, "memory", "call that allocates or frees memory")                \
  X(kEvent, "event", "call about events and streams")                        \
  X(kModule, "module", "call that loads or links code")                      \
  X(kCall, "call", "any other runtime call")                                 \
  X(kMatrixKernel, "matrix_kernel", "product, convolution, attention")       \
  X(kElementwiseKernel, "elementwise_kernel", "arithmetic on each element")  \
  X(kReduceKernel, "reduce_kernel", "reduction, norm, softmax, pool")        \
  X(kKernel, "kernel", "any other kernel")                                   \
  X(kCommunication, "communication", "a collective's kernel")                \
  X(kToDevice, "to_device", "copy from the host")                            \
  X(kToHost, "to_host", "copy to the host")                                  \
  X(kInDevice, "in_device", "any other copy")                                \
  X(kMemset, "memset", "memset")

enum class Kind : std::uint8_t {
#define TTA_KIND_ID(id, name, doc) id,
  TTA_KINDS(TTA_KIND_ID)
#undef TTA_KIND_ID
};
inline constexpr std::size_t kKinds = static_cast<std::size_t>(Kind::kMemset) + 1;

struct KindInfo {
  std::string_view name, doc;
};
/// The table; `kinds()[i]` is of Kind(i).
std::span<const KindInfo> kinds();

inline bool is_operator(Kind kind) { return kind <= Kind::kQuantize; }
inline bool is_call(Kind kind) { return kind >= Kind::kLaunch && kind <= Kind::kCall; }
inline bool is_copy(Kind kind) {
  return kind >= Kind::kToDevice && kind <= Kind::kInDevice;
}
inline bool is_kernel(Kind kind) {
  return kind >= Kind::kMatrixKernel && kind <= Kind::kCommunication;
}
inline bool is_device(Kind kind) { return kind >= Kind::kMatrixKernel; }

/// The kind of its sort that is "any other": what a model that does not know a kind
/// takes it for.
inline Kind general_kind(Kind kind) {
  if (is_copy(kind) || kind == Kind::kMemset) return Kind::kInDevice;
  if (is_kernel(kind)) return Kind::kKernel;
  if (is_call(kind)) return Kind::kCall;
  return is_operator(kind) ? Kind::kOther : Kind::kRange;
}

/// What an operator is by its name.
Kind operator_kind(std::string_view name);
/// What a runtime call is by its name.
Kind call_kind(std::string_view name);
/// What a kernel is by its name; communication is the timeline's to tell.
Kind kernel_kind(std::string_view name);

/// Returns what each row on a lane is, kOther for the rest. Each name is asked once.
std::vector<Kind> kinds_of_rows(const timeline::Timeline& timeline);

}  // namespace tta::features

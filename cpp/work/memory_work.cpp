// SPDX-License-Identifier: BSD-3-Clause
// work/memory_work.cpp: operators that memory limits: elementwise, reductions,
// normalizations, copies and lookups.
#include <algorithm>
#include <array>
#include <string_view>

#include "work/call.h"

namespace tta::work {
namespace {

// Whether tensors can be passed over in the order in which they lie in memory.
class Layouts {
 public:
  void add(const Call& call, std::size_t i) {
    const auto order = call.order(i, gaps_);
    if (order.size() < 2) return;
    if (order_.empty()) order_ = order;
    differ_ = differ_ || (order.size() == order_.size() && order != order_);
  }
  bool differ() const { return gaps_ || differ_; }

 private:
  Numbers order_;
  bool gaps_ = false, differ_ = false;
};

// All tensors are read, and as many elements written as the largest shape has, in the
// widest type; in one byte by comparisons.
Made elementwise(const Call& call, double written_element = 0) {
  double read = 0, widest = 0;
  Numbers shape;
  std::string_view type;
  Layouts layouts;
  for (std::size_t i = 0; i < call.size(); ++i) {
    if (!call.is_tensor(i)) continue;
    const auto sizes = call.dims(i);
    if (sizes.empty()) continue;  // A number.
    layouts.add(call, i);
    read += call.bytes(i);
    if (type.empty()) type = call.type(i);
    widest = std::max(widest, call.element(i));
    // Broadcast, from the last dimension.
    if (sizes.size() > shape.size()) {
      shape.insert(shape.begin(), sizes.size() - shape.size(), 1);
    }
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      auto& size = shape[shape.size() - sizes.size() + d];
      size = std::max(size, sizes[d]);
    }
  }
  if (shape.empty()) return {};
  const auto elements = product(shape);
  const auto element = written_element > 0 ? written_element : widest;
  auto work = made(WorkClass::kElementwise, elements, read + element * elements, type);
  work->strided = layouts.differ();
  return work;
}
Made arithmetic(const Call& call) { return elementwise(call); }
Made comparison(const Call& call) { return elementwise(call, 1); }

Made reduction(const Call& call) {
  if (!call.is_tensor(0) || call.dims(0).empty()) return {};
  return made(WorkClass::kReduction, product(call.dims(0)), call.bytes(0),
              call.type(0));
}

// Reads `inputs` tensors of the size of the first, and writes one.
Made norm(const Call& call, std::size_t inputs) {
  if (!call.is_tensor(0) || call.dims(0).empty()) return {};
  double bytes = call.bytes(0);
  for (std::size_t i = 0; i < inputs; ++i) bytes += call.bytes(i);
  return made(WorkClass::kNorm, 5 * product(call.dims(0)), bytes, call.type(0));
}
Made norm_forward(const Call& call) { return norm(call, 1); }
Made norm_backward(const Call& call) { return norm(call, 2); }
// Over the last dimension, whose rows lie one after the other.
Made with_rows(const Call& call, Made work) {
  if (!work) return work;
  const auto row = call.element(0) * static_cast<double>(call.dims(0).back());
  work->row_bytes = static_cast<std::int64_t>(row);
  return work;
}
Made layer_norm(const Call& call) { return with_rows(call, norm(call, 1)); }
Made softmax(const Call& call) {
  const auto last = static_cast<std::int64_t>(call.dims(0).size()) - 1;
  const bool known = !call.value(1).empty();
  const bool is_last = known && (call.number(1) == -1 || call.number(1) == last);
  return is_last ? with_rows(call, norm(call, 1)) : norm(call, 1);
}
Made copy(const Call& call) {
  if (!call.is_tensor(0) || !call.is_tensor(1)) return {};
  auto work = made(WorkClass::kMove, 0, call.bytes(0) + call.bytes(1), call.type(0));
  Layouts layouts;
  layouts.add(call, 0);
  layouts.add(call, 1);
  work->strided = layouts.differ();
  return work;
}
Made fill(const Call& call) {
  if (!call.is_tensor(0)) return {};
  return made(WorkClass::kMove, 0, call.bytes(0), call.type(0));
}
// Rows of a table, each read and written.
Made lookup(const Call& call, std::size_t index, double row) {
  if (!call.is_tensor(0) || !call.is_tensor(index)) return {};
  const auto moved = 2 * call.element(0) * row * product(call.dims(index));
  return made(WorkClass::kMove, 0, moved + call.bytes(index), call.type(0));
}
Made embedding(const Call& call) {
  const auto table = call.dims(0);
  return table.size() == 2 ? lookup(call, 1, static_cast<double>(table[1])) : Made{};
}
Made index_select(const Call& call) {
  const auto sizes = call.dims(0);
  auto at = call.number(1);
  if (at < 0) at += static_cast<std::int64_t>(sizes.size());
  if (call.value(1).empty() || at < 0 ||
      at >= static_cast<std::int64_t>(sizes.size()) ||
      sizes[static_cast<std::size_t>(at)] < 1) {
    return {};
  }
  const auto row =
      product(sizes) / static_cast<double>(sizes[static_cast<std::size_t>(at)]);
  return lookup(call, 2, row);
}
Made gather(const Call& call) { return lookup(call, 2, 1); }

// Rows that are added up where an index says, and how often to each the trace does not
// have: `source` are they, and as much is written.
Made added_rows(const Call& call, std::size_t source, double written) {
  if (!call.is_tensor(source) || call.dims(source).empty()) return {};
  auto work =
      made(WorkClass::kMove, 0, call.bytes(source) + written, call.type(source));
  work->exact = false;
  return work;
}
Made index_add(const Call& call) { return added_rows(call, 3, call.bytes(3)); }
Made embedding_gradient(const Call& call) {
  const auto rows = call.number(2);
  const auto grad = call.dims(0);
  if (rows < 0 || grad.empty()) return {};
  return added_rows(
      call, 0,
      call.element(0) * static_cast<double>(rows) * static_cast<double>(grad.back()));
}

// --- Images ----------------------------------------------------------------------

// `space` are the sizes of an output, or of an input that is written: the first two
// dimensions are those of the tensor that is read.
Made resized(const Call& call, const Numbers& space, double written_element) {
  const auto in = call.dims(0);
  if (!call.is_tensor(0) || in.size() != space.size() + 2 || space.empty() ||
      *std::ranges::min_element(space) < 1) {
    return {};
  }
  const auto out =
      static_cast<double>(in[0]) * static_cast<double>(in[1]) * product(space);
  return made(WorkClass::kElementwise, std::max(product(in), out),
              call.bytes(0) + written_element * out, call.type(0));
}
Made upsample(const Call& call) { return resized(call, call.list(1), call.element(0)); }
Made upsample_gradient(const Call& call) {
  const auto in = call.list(2);
  if (in.size() < 3) return {};
  return resized(call, {in.begin() + 2, in.end()}, call.element(0));
}

// Windows of a size, a stride (the size if it is empty) and a padding.
Made pooled(const Call& call, double written_element) {
  const auto in = call.dims(0), size = call.list(1), padding = call.list(3);
  const auto stride = call.list(2).empty() ? size : call.list(2);
  if (in.size() != size.size() + 2 || stride.size() != size.size() ||
      padding.size() != size.size()) {
    return {};
  }
  constexpr auto kMost = std::int64_t{1} << 30;
  Numbers out;
  for (std::size_t d = 0; d < size.size(); ++d) {
    if (stride[d] < 1 || size[d] < 1 || size[d] > kMost || padding[d] < 0 ||
        padding[d] > kMost) {
      return {};
    }
    out.push_back((in[d + 2] + 2 * padding[d] - size[d]) / stride[d] + 1);
  }
  return resized(call, out, written_element);
}
Made average_pool(const Call& call) { return pooled(call, call.element(0)); }
// And the places of the maxima, as int64.
Made max_pool(const Call& call) { return pooled(call, call.element(0) + 8); }
Made max_pool_gradient(const Call& call) {
  if (!call.is_tensor(0) || !call.is_tensor(1)) return {};
  const auto read = call.bytes(0) + 8 * product(call.dims(0));
  return made(WorkClass::kElementwise, product(call.dims(1)), read + call.bytes(1),
              call.type(0));
}
Made dropout(const Call& call) {
  if (!call.is_tensor(0)) return {};
  const auto n = product(call.dims(0));
  return made(WorkClass::kElementwise, n, 2 * call.bytes(0) + n, call.type(0));
}

// --- Libraries -------------------------------------------------------------------

// The tensors in the list are all that is read and written, each `times`.
Made listed(const Call& call, WorkClass work_class, double times = 1) {
  double bytes = 0, most = 0;
  for (std::size_t i = 0; i < call.size(); ++i) {
    if (!call.is_tensor(i) || call.dims(i).empty()) continue;
    bytes += call.bytes(i);
    most = std::max(most, product(call.dims(i)));
  }
  if (bytes <= 0 || !call.is_tensor(0) || call.dims(0).empty()) return {};
  const auto flops = work_class == WorkClass::kNorm ? 5 * most : most;
  return made(work_class, flops, times * bytes, call.type(0));
}
Made listed_once(const Call& call) { return listed(call, WorkClass::kElementwise); }
Made listed_loss(const Call& call) { return listed(call, WorkClass::kReduction); }
Made listed_norm(const Call& call) {
  return with_rows(call, listed(call, WorkClass::kNorm));
}
Made norm_in_place(const Call& call) {
  return with_rows(call, listed(call, WorkClass::kNorm, 2));
}
// Positions, then queries and keys, in place; of the table few rows.
Made rotary(const Call& call) {
  if (!call.is_tensor(1) || call.dims(1).empty()) return {};
  return made(WorkClass::kElementwise, 3 * product(call.dims(1)),
              call.bytes(0) + 2 * (call.bytes(1) + call.bytes(2)), call.type(1));
}
// Keys and values into a cache.
Made cached(const Call& call) {
  if (!call.is_tensor(0) || !call.is_tensor(1) || call.dims(0).empty()) return {};
  return made(WorkClass::kMove, 0, 2 * (call.bytes(0) + call.bytes(1)), call.type(0));
}
// [heads, queries, keys]: half of it is behind the mask, and only written.
Made masked_softmax(const Call& call) {
  auto work = with_rows(call, norm(call, 1));
  if (work) work->bytes *= 0.75;
  return work;
}

// --- The table -------------------------------------------------------------------

constexpr std::array kMemoryRows = {
    WorkRow{
        arithmetic,
        " add sub rsub mul div pow neg abs exp log sqrt rsqrt reciprocal square "
        "sigmoid "
        "tanh relu gelu silu mish leaky_relu elu hardswish hardsigmoid hardtanh "
        "softplus "
        "clamp clamp_min clamp_max threshold sin cos erf floor ceil round sign where "
        "masked_fill addcmul addcdiv lerp maximum minimum remainder fmod bitwise_and "
        "bitwise_or bitwise_not gelu_backward silu_backward sigmoid_backward "
        "tanh_backward threshold_backward leaky_relu_backward elu_backward "
        "hardswish_backward hardsigmoid_backward hardtanh_backward softplus_backward "},
    WorkRow{
        comparison,
        " eq ne lt le gt ge logical_and logical_or logical_not isnan isinf isfinite "},
    WorkRow{
        reduction,
        " sum mean amax amin max min argmax argmin prod norm linalg_vector_norm any "
        "all "
        "std var "},
    WorkRow{softmax, " _softmax _log_softmax "},
    WorkRow{layer_norm, " native_layer_norm _fused_rms_norm rms_norm "},
    WorkRow{norm_forward,
            " native_batch_norm cudnn_batch_norm "
            "miopen_batch_norm native_group_norm "},
    WorkRow{
        norm_backward,
        " _softmax_backward_data _log_softmax_backward_data native_layer_norm_backward "
        "native_batch_norm_backward cudnn_batch_norm_backward "
        "miopen_batch_norm_backward native_group_norm_backward "
        "_fused_rms_norm_backward "},
    WorkRow{copy, " copy_ "},
    WorkRow{fill, " fill_ zero_ "},
    WorkRow{embedding, " embedding "},
    WorkRow{index_select, " index_select "},
    WorkRow{gather, " gather scatter "},
    WorkRow{index_add, " index_add scatter_add "},
    WorkRow{embedding_gradient, " embedding_dense_backward "},
    WorkRow{upsample,
            " upsample_nearest1d upsample_nearest2d upsample_nearest3d "
            "upsample_bilinear2d upsample_bicubic2d _adaptive_avg_pool2d "
            "_adaptive_avg_pool3d "},
    WorkRow{upsample_gradient,
            " upsample_nearest2d_backward upsample_bilinear2d_backward "},
    WorkRow{average_pool, " avg_pool2d avg_pool3d "},
    WorkRow{max_pool, " max_pool2d_with_indices max_pool3d_with_indices "},
    WorkRow{max_pool_gradient, " max_pool2d_with_indices_backward "},
    WorkRow{dropout, " native_dropout "},
    WorkRow{listed_loss, " mse_loss smooth_l1_loss huber_loss binary_cross_entropy "},
    WorkRow{listed_once,
            " _C::silu_and_mul _C::gelu_and_mul _C::gelu_tanh_and_mul "
            "_C::static_scaled_fp8_quant sgl_kernel::silu_and_mul "
            "sgl_kernel::gelu_and_mul sgl_kernel::gelu_tanh_and_mul "
            "aiter::silu_and_mul aiter::gelu_and_mul "},
    WorkRow{listed_norm,
            " _C::rms_norm sgl_kernel::rmsnorm aiter::rmsnorm aiter::add_rmsnorm "},
    WorkRow{norm_in_place, " _C::fused_add_rms_norm sgl_kernel::fused_add_rmsnorm "},
    WorkRow{rotary, " _C::rotary_embedding sgl_kernel::rotary_embedding "},
    WorkRow{cached,
            " _C_cache_ops::reshape_and_cache_flash _C_cache_ops::reshape_and_cache "
            "sglang::store_cache "},
    WorkRow{layer_norm, " ::FusedLayerNormAffineFunction "},
    WorkRow{masked_softmax, " ::ScaledUpperTriangMaskedSoftmax "},
};

}  // namespace

std::span<const WorkRow> memory_rows() { return kMemoryRows; }

}  // namespace tta::work

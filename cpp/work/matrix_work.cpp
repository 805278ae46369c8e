// SPDX-License-Identifier: BSD-3-Clause
// work/matrix_work.cpp: products, convolutions and attention.
#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "work/call.h"

namespace tta::work {
namespace {

// --- Products --------------------------------------------------------------------

// [.., m, k] x [.., k, n], the second transposed if it is a weight of `linear`; plus a
// bias before or after them.
Made matrix_product(const Call& call, std::size_t first, bool is_linear) {
  const auto a = call.dims(first);
  auto b = call.dims(first + 1);
  if (a.size() < 2 || b.size() < 2 || !call.is_tensor(first) ||
      !call.is_tensor(first + 1)) {
    return {};
  }
  if (is_linear) std::swap(b[b.size() - 1], b[b.size() - 2]);
  const auto inner = static_cast<double>(a.back());
  if (b[b.size() - 2] != a.back() || inner <= 0) return {};
  const bool batched = b.size() == 3;
  if (batched ? a.size() != 3 || a[0] != b[0] : b.size() != 2) return {};
  const auto rows = product(a) / inner;  // Of all in the batch.
  const auto columns = static_cast<double>(b.back());
  // Types of eight bits are summed in wider ones.
  const auto out = std::max(2.0, call.element(first));
  auto bytes = call.bytes(first) + call.bytes(first + 1) + out * rows * columns;
  if (first == 1) bytes += call.bytes(0);
  if (is_linear) bytes += call.bytes(2);
  auto work =
      made(WorkClass::kProduct, 2 * rows * inner * columns, bytes, call.type(first));
  const auto each = batched ? static_cast<double>(a[1]) : rows;
  if (each < 1e15) work->rows = static_cast<std::int64_t>(each);
  work->inner = a.back();
  work->columns = b.back();
  return work;
}

Made products(const Call& call) { return matrix_product(call, 0, false); }
Made added_products(const Call& call) { return matrix_product(call, 1, false); }
// The output comes first.
Made products_into(const Call& call) {
  auto work = matrix_product(call, 1, false);
  if (work) work->bytes -= call.bytes(0);
  return work;
}
Made linear(const Call& call) { return matrix_product(call, 0, true); }

Made vector_product(const Call& call, std::size_t first) {
  const auto a = call.dims(first), b = call.dims(first + 1);
  if (a.empty() || b.size() != 1 || a.back() != b[0]) return {};
  const auto n = product(a);
  const auto bytes = call.bytes(first) + call.bytes(first + 1) +
                     call.element(first) * n / static_cast<double>(b[0]);
  return made(WorkClass::kProduct, 2 * n, bytes, call.type(first));
}
Made vectors(const Call& call) { return vector_product(call, 0); }
Made added_vectors(const Call& call) { return vector_product(call, 1); }

Made grouped_product(const Call& call) {
  const auto a = call.dims(0), b = call.dims(1);
  if (a.size() != 2 || b.size() != 3 || a[1] != b[1] || !call.is_tensor(0)) return {};
  const auto out = static_cast<double>(a[0]) * static_cast<double>(b[2]);
  auto work = made(WorkClass::kProduct, 2 * out * static_cast<double>(a[1]),
                   call.bytes(0) + call.bytes(1) + std::max(2.0, call.element(0)) * out,
                   call.type(0));
  return work;
}

// Experts of which each row visits a few, gated: [rows, in], [experts, 2 hidden, in],
// [experts, in, hidden], and the choice of each row [rows, few].
Made experts(const Call& call) {
  const auto x = call.dims(0), up = call.dims(1), down = call.dims(2);
  const auto chosen = call.dims(4);
  if (x.size() != 2 || up.size() != 3 || down.size() != 3 || chosen.size() != 2 ||
      up[0] != down[0] || up[2] != x[1] || down[1] != x[1] || chosen[0] != x[0] ||
      up[0] < 1 || !call.is_tensor(0) || !call.is_tensor(1)) {
    return {};
  }
  const auto rows = static_cast<double>(x[0]), few = static_cast<double>(chosen[1]);
  const auto all = static_cast<double>(up[0]);
  if (few > all) return {};
  // Experts that no row chose are not read; rows choose evenly.
  const auto active = all * (1 - std::pow((all - few) / all, rows));
  const auto weights = product(up, 1) + product(down, 1);
  auto work =
      made(WorkClass::kProduct, 2 * rows * few * weights,
           call.element(1) * active * weights + 2 * call.bytes(0), call.type(0));
  // Of weights in another type the trace does not have that of the products.
  work->exact = call.type(0) == call.type(1);
  return work;
}

// --- Convolutions ----------------------------------------------------------------

// The places of a convolution's settings; -1: absent.
struct Places {
  int input, weight, stride, padding, dilation, groups, transposed = -1, more = -1;
};

// A value for each dimension of space; empty if it is unknown.
Numbers spread(const Call& call, int place, std::size_t dimensions, std::int64_t none) {
  if (place < 0) return Numbers(dimensions, none);
  auto out = call.list(static_cast<std::size_t>(place));
  if (out.size() == 1) out.assign(dimensions, out[0]);
  constexpr auto kMost = std::int64_t{1} << 30;
  const bool odd = std::ranges::any_of(out, [&](auto i) { return i < 0 || i > kMost; });
  if (out.size() != dimensions || odd) out.clear();
  return out;
}

// Sizes of the output of a convolution.
Numbers output_of(const Call& call, const Places& at, const Numbers& in,
                  const Numbers& weight, bool transposed) {
  const auto space = in.size() - 2;
  const auto stride = spread(call, at.stride, space, 1);
  const auto padding = spread(call, at.padding, space, 0);
  const auto dilation = spread(call, at.dilation, space, 1);
  const auto more = spread(call, transposed ? at.more : -1, space, 0);
  if (stride.empty() || padding.empty() || dilation.empty() || more.empty()) return {};
  Numbers out{in[0], weight[0]};
  if (transposed) {
    const auto groups =
        at.groups < 0 ? 1 : call.number(static_cast<std::size_t>(at.groups));
    if (groups < 1 || groups > (1 << 30)) return {};
    out[1] = weight[1] * groups;
  }
  for (std::size_t d = 0; d < space; ++d) {
    const auto reach = dilation[d] * (weight[d + 2] - 1);
    if (stride[d] < 1 || padding[d] < 0 || dilation[d] < 1) return {};
    const auto size =
        transposed ? (in[d + 2] - 1) * stride[d] - 2 * padding[d] + reach + 1 + more[d]
                   : (in[d + 2] + 2 * padding[d] - reach - 1) / stride[d] + 1;
    if (size < 1) return {};
    out.push_back(size);
  }
  return out;
}

bool fit(const Numbers& image, const Numbers& weight) {
  return image.size() >= 3 && image.size() <= 5 && image.size() == weight.size() &&
         *std::ranges::min_element(image) > 0 && *std::ranges::min_element(weight) > 0;
}

// A weight is [out, in of a group, ...]: each of its elements meets each pixel of the
// output, or of the input of a transposed one.
double meetings(const Numbers& in, const Numbers& out, const Numbers& weight,
                bool transposed) {
  return 2 * static_cast<double>(in[0]) * product(transposed ? in : out, 2) *
         product(weight);
}

// Its window, and the channels that each output meets.
void note_form(OperatorWork& work, const Numbers& in, const Numbers& weight,
               bool transposed) {
  work.channels = weight[transposed ? 0 : 1];
  work.window = 1;
  const auto window = product(weight, 2);
  if (window < 1e9) work.window = static_cast<std::int64_t>(window);
  work.transposed = transposed;
  work.depthwise = !transposed && weight[1] == 1 && in[1] > 1;
}

Made forward(const Call& call, const Places& at) {
  const auto i = static_cast<std::size_t>(at.input);
  const auto w = static_cast<std::size_t>(at.weight);
  const auto in = call.dims(i), weight = call.dims(w);
  if (!fit(in, weight) || !call.is_tensor(i) || !call.is_tensor(w)) return {};
  const bool transposed =
      at.transposed >= 0 && call.flag(static_cast<std::size_t>(at.transposed));
  const bool exact = call.has_values();
  auto out = exact ? output_of(call, at, in, weight, transposed) : in;
  if (out.empty()) return {};
  if (!exact) {
    out[1] = weight[0];
    for (std::size_t d = 2; d < out.size(); ++d) out[d] = (out[d] + 1) / 2;
  }
  auto work = made(WorkClass::kConvolution, meetings(in, out, weight, transposed),
                   call.bytes(i) + call.bytes(w) + call.element(i) * product(out),
                   call.type(i));
  work->exact = exact;
  note_form(*work, in, weight, transposed);
  for (const auto step : spread(call, at.dilation, in.size() - 2, 1)) {
    work->dilated = work->dilated || step > 1;
  }
  return work;
}

template <Places at>
Made convolution(const Call& call) {
  return forward(call, at);
}

// Gradients of the input, the weight, or both; sizes stand in for what is not read.
Made gradients(const Call& call, std::size_t grad, std::size_t input,
               std::size_t weight, bool transposed, int times) {
  const auto in = call.shape(input), out = call.shape(grad), w = call.shape(weight);
  if (!fit(in, w) || !fit(out, w) || times == 0 || !call.is_tensor(grad)) return {};
  const auto moved = call.element(grad) * (product(in) + product(out) + product(w));
  auto work = made(WorkClass::kConvolution, times * meetings(in, out, w, transposed),
                   times * moved, call.type(grad));
  note_form(*work, in, w, transposed);
  return work;
}
Made both_gradients(const Call& call) {
  if (!call.has_values()) {  // At least one of them.
    auto work = gradients(call, 0, 1, 2, false, 1);
    if (work) work->exact = false;
    return work;
  }
  std::string_view mask = call.value(10);
  int times = 0;
  int place = 0;
  trace::for_each_element(mask, [&](std::string_view asked) {
    if (place++ < 2) times += asked == "True" || asked == "true";
  });
  auto work = gradients(call, 0, 1, 2, call.flag(7), times);
  if (!work) return work;
  for (const auto step : call.list(6)) work->dilated = work->dilated || step > 1;
  return work;
}
// --- Attention -------------------------------------------------------------------

// The places of the query, of a causal mask, of lengths of sequences that are packed
// one after the other, and of the longest of them; -1: there are none.
struct Heads {
  int query, causal, lengths = -1;
  bool heads_first = true;  // [batch, heads, length, size], else length before heads.
  bool backward = false;
  int window = -1;        // Of a sliding window's left side, -1 in it: none.
  int longest = -1;       // After the two `lengths` if not given.
  bool is_paged = false;  // Keys and values are in pages of a cache.
};

bool is_causal(const Call& call, const Heads& at) {
  const auto value = call.value(static_cast<std::size_t>(at.causal));
  return value == "True" || value == "true" || value == "1" ||
         value == "2";  // A type of mask of `_efficient_attention_*`.
}

// Sizes of query, key and value.
struct Attended {
  Numbers q, k, v;  // [batch, heads, length, size].
};

// Packed sequences: [tokens, heads, size], or a batch of one. The trace has no lengths,
// but if all tokens together are as many as each sequence of the longest length has,
// then all are equal.
std::optional<Attended> unpack(const Call& call, const Heads& at, Attended packed) {
  const auto lengths = call.dims(static_cast<std::size_t>(at.lengths));
  const auto place =
      static_cast<std::size_t>(at.longest < 0 ? at.lengths + 2 : at.longest);
  const auto queries = call.number(place), keys = call.number(place + 1);
  if (lengths.size() != 1 || lengths[0] < 2 || queries < 1 || keys < 1) return {};
  const auto count = lengths[0] - 1;
  for (auto* sizes : {&packed.q, &packed.k, &packed.v}) {
    if (sizes->size() == 4 && sizes->front() == 1) sizes->erase(sizes->begin());
    if (sizes->size() != 3) return {};
  }
  const auto all_of = [&](const Numbers& sizes, std::int64_t longest) {
    return longest <= sizes[0] && count <= sizes[0] && sizes[0] == count * longest;
  };
  // Behind a causal mask there are at least as many keys as queries.
  const bool keys_known =
      at.is_paged ? is_causal(call, at) && keys == queries : all_of(packed.k, keys);
  if (!all_of(packed.q, queries) || !keys_known) return {};
  const auto spread = [&](const Numbers& sizes, std::int64_t length) {
    return Numbers{count, sizes[1], length, sizes[2]};
  };
  return Attended{spread(packed.q, queries), spread(packed.k, keys),
                  spread(packed.v, keys)};
}

Made attend(const Call& call, const Heads& at) {
  const auto first = static_cast<std::size_t>(at.query);
  if (!call.is_tensor(first)) return {};
  // Another version's list has a window's -1 there.
  if (call.value(static_cast<std::size_t>(at.causal)) == "-1") return {};
  if (at.window >= 0 && call.number(static_cast<std::size_t>(at.window)) >= 0) {
    return {};
  }
  Attended of{call.dims(first), call.dims(first + 1), call.dims(first + 2)};
  if (at.lengths >= 0 && call.is_tensor(static_cast<std::size_t>(at.lengths))) {
    auto unpacked = unpack(call, at, std::move(of));
    if (!unpacked) return {};
    of = *std::move(unpacked);
  } else {
    if (of.q.size() != 4 || of.k.size() != 4 || of.v.size() != 4) return {};
    if (!at.heads_first) {
      for (auto* sizes : {&of.q, &of.k, &of.v}) std::swap((*sizes)[1], (*sizes)[2]);
    }
  }
  const auto& [q, k, v] = of;
  if (q[0] != k[0] || k[2] != v[2] || q[3] != k[3] || q[2] < 1 || k[2] < 1) return {};
  const bool masked = is_causal(call, at);
  const auto queries = static_cast<double>(q[2]), keys = static_cast<double>(k[2]);
  // Behind a mask, a query sees the keys up to its own, counted from the end of both:
  // the first ones of more queries than keys see none.
  const auto seeing = masked ? std::min(queries, keys) : queries;
  const auto seen = masked ? keys - (seeing - 1) / 2 : keys;
  const auto pairs =
      static_cast<double>(q[0]) * static_cast<double>(q[1]) * seeing * seen;
  const auto qk = static_cast<double>(q[3]), vo = static_cast<double>(v[3]);
  // Backward: the scores once more, then gradients of v, scores, q and k.
  const auto flops = 2 * pairs * (at.backward ? 3 * qk + 2 * vo : qk + vo);
  const auto out = call.element(first) * product(q) / qk * vo;
  const auto read = call.bytes(first) +
                    (at.is_paged ? call.element(first + 1) * (product(k) + product(v))
                                 : call.bytes(first + 1) + call.bytes(first + 2));
  auto work = made(WorkClass::kAttention, flops,
                   at.backward ? 2 * read + 2 * out : read + out, call.type(first));
  work->head_size = q[3];
  work->length = std::min(q[2], k[2]);
  work->backward = at.backward;
  work->exact = call.has_values();
  return work;
}

template <Heads at>
Made attention(const Call& call) {
  return attend(call, at);
}

// --- The table -------------------------------------------------------------------

constexpr Heads kFlash{.query = 0, .causal = 8, .lengths = 3, .heads_first = false};
constexpr Heads kFlashBackward{1, 11, 6, false, true};
constexpr Heads kEfficient{.query = 0, .causal = 9, .lengths = 4, .heads_first = false};
constexpr Heads kEfficientBackward{1, 14, 6, false, true};
constexpr Heads kCudnn{.query = 0, .causal = 10, .lengths = 4};
// flash_attn's own operators, and those of aiter.
constexpr Heads kDao{.query = 0, .causal = 5, .heads_first = false, .window = 6};
constexpr Heads kDaoBackward{1, 11, -1, false, true, 12};
constexpr Heads kDaoPacked{0, 9, 3, false, false, 10};
constexpr Heads kDaoPackedBackward{1, 15, 9, false, true, 16};
constexpr Heads kAiterPacked{0, 12, 3, false, false, 13};
constexpr Heads kAiterPaged{0, 12, 3, false, false, 13, 6, true};
constexpr Heads kOfBias{.query = 0, .causal = 6};
constexpr Heads kOfNone{.query = 0, .causal = 4};

constexpr std::array kMatrixRows = {
    WorkRow{products,
            " mm bmm _scaled_mm _int_mm sgl_kernel::fp8_scaled_mm "
            "sgl_kernel::int8_scaled_mm "},
    WorkRow{added_products, " addmm addmm_ _addmm_activation baddbmm baddbmm_ "},
    WorkRow{products_into, " _C::cutlass_scaled_mm "},
    WorkRow{linear,
            " linear mkldnn_linear aiter::gemm_a16w16 vllm::rocm_unquantized_gemm "},
    WorkRow{vectors, " mv dot vdot "},
    WorkRow{added_vectors, " addmv addmv_ "},
    WorkRow{convolution<Places{0, 1, 3, 4, 5, 8, 6, 7}>,
            " convolution _convolution convolution_overrideable "},
    WorkRow{convolution<Places{0, 1, 3, 4, 5, 6}>,
            " conv1d conv2d conv3d cudnn_convolution_relu "},
    WorkRow{convolution<Places{0, 1, 6, 7, 8, 9}>, " cudnn_convolution_add_relu "},
    WorkRow{convolution<Places{0, 1, 3, 2, 4, 5}>, " cudnn_convolution "},
    WorkRow{convolution<Places{0, 1, 4, 3, 5, 6}>,
            " miopen_convolution mkldnn_convolution "},
    WorkRow{convolution<Places{0, 1, 4, 5, 6, -1}>,
            " _conv_depthwise2d conv_depthwise3d slow_conv_dilated2d "},
    WorkRow{convolution<Places{0, 1, 4, 5, -1, -1}>,
            " thnn_conv2d _slow_conv2d_forward slow_conv3d_forward "},
    WorkRow{experts,
            " vllm::inplace_fused_experts vllm::outplace_fused_experts "
            "sglang::inplace_fused_experts sglang::outplace_fused_experts "},
    WorkRow{both_gradients, " convolution_backward "},
    WorkRow{attention<kFlash>, " _flash_attention_forward "},
    WorkRow{attention<kFlashBackward>, " _flash_attention_backward "},
    WorkRow{attention<kEfficient>, " _efficient_attention_forward "},
    WorkRow{attention<kEfficientBackward>, " _efficient_attention_backward "},
    WorkRow{attention<kCudnn>, " _cudnn_attention_forward "},
    WorkRow{attention<kDao>,
            " flash_attn::_flash_attn_forward aiter::mha_fwd aiter::fmha_v3_fwd "},
    WorkRow{attention<kDaoBackward>, " flash_attn::_flash_attn_backward "},
    WorkRow{attention<kDaoPacked>, " flash_attn::_flash_attn_varlen_forward "},
    WorkRow{attention<kDaoPackedBackward>, " flash_attn::_flash_attn_varlen_backward "},
    WorkRow{attention<kAiterPacked>, " aiter::mha_varlen_fwd "},
    WorkRow{attention<kAiterPaged>, " aiter::mha_batch_prefill "},
    WorkRow{attention<kOfBias>,
            " _scaled_dot_product_cudnn_attention "
            "_scaled_dot_product_efficient_attention "},
    WorkRow{attention<kOfNone>,
            " _scaled_dot_product_flash_attention "
            "_scaled_dot_product_flash_attention_for_cpu "},
    WorkRow{attention<Heads{1, 11, 6, true, true}>,
            " _scaled_dot_product_flash_attention_backward "},
    WorkRow{attention<Heads{1, 11, -1, true, true}>,
            " _scaled_dot_product_efficient_attention_backward "},
    WorkRow{attention<Heads{1, 14, 9, true, true}>,
            " _scaled_dot_product_cudnn_attention_backward "},
    WorkRow{grouped_product, " _grouped_mm "},
};

}  // namespace

std::span<const WorkRow> matrix_rows() { return kMatrixRows; }

Made one_gradient(const Call& around) { return gradients(around, 1, 0, 2, false, 1); }

std::array<Numbers, 3> convolved(std::string_view name,
                                 const timeline::OpArgs& inputs) {
  const Call call(inputs);
  if (name == "aten::convolution_backward") {
    return {call.dims(1), call.dims(2), call.dims(0)};
  }
  if (name == "aten::cudnn_convolution_backward") {
    return {call.dims(0), call.dims(2), call.dims(1)};
  }
  return {};
}

void settle(OperatorWork& work, const timeline::OpArgs& inputs, const Numbers& output) {
  const Call call(inputs);
  const auto in = call.dims(0), weight = call.dims(1);
  if (!fit(in, weight) || !fit(output, weight)) return;
  work.flops = meetings(in, output, weight, false);
  work.bytes = call.bytes(0) + call.bytes(1) + call.element(0) * product(output);
  work.exact = true;
}

}  // namespace tta::work

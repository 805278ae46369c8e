// SPDX-License-Identifier: BSD-3-Clause
// work/operator_work.cpp: the table of operators, and the sums for each class. One
// file, as the sums share their view of a call's inputs and nothing else needs them.
#include "work/operator_work.h"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "trace/args.h"

namespace tta::work {
namespace {

using Numbers = std::vector<std::int64_t>;
using Made = std::optional<OperatorWork>;

double product(const Numbers& sizes, std::size_t from = 0) {
  double out = 1;
  for (auto i = from; i < sizes.size(); ++i) out *= static_cast<double>(sizes[i]);
  return out;
}

// One call's inputs by their places in the operator's schema.
class Call {
 public:
  explicit Call(const timeline::OpArgs& in) : in_(in) {}

  std::size_t size() const { return in_.types.size(); }
  std::string_view type(std::size_t i) const {
    return i < in_.types.size() ? std::string_view(in_.types[i]) : "";
  }
  /// -1 unless it is a tensor of a known type.
  double element(std::size_t i) const {
    return static_cast<double>(timeline::element_bytes(type(i)));
  }
  bool is_tensor(std::size_t i) const { return element(i) > 0; }
  Numbers dims(std::size_t i) const {
    return i < in_.dims.size() ? in_.dims[i] : Numbers{};
  }
  /// Sizes of a tensor, or those that were passed in its place.
  Numbers shape(std::size_t i) const {
    auto out = dims(i);
    return out.empty() ? list(i) : out;
  }
  std::string_view value(std::size_t i) const {
    return i < in_.values.size() ? std::string_view(in_.values[i]) : "";
  }
  Numbers list(std::size_t i) const {
    Numbers out;
    trace::for_each_element(value(i), [&](std::string_view element) {
      out.push_back(trace::as_int(element).value_or(-1));
    });
    return out;
  }
  std::int64_t number(std::size_t i) const {
    return trace::as_int(value(i)).value_or(-1);
  }
  bool flag(std::size_t i) const { return value(i) == "True" || value(i) == "true"; }
  bool has_values() const { return !in_.values.empty(); }
  /// Dimensions from the one with the smallest stride on, without those of size 1; with
  /// a first stride other than 1 it has gaps. Empty if unknown or a broadcast.
  Numbers order(std::size_t i, bool& gaps) const {
    const auto sizes = dims(i);
    if (i >= in_.strides.size() || in_.strides[i].size() != sizes.size()) return {};
    Numbers out;
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      if (in_.strides[i][d] == 0) return {};
      if (sizes[d] > 1) out.push_back(static_cast<std::int64_t>(d));
    }
    const auto stride = [&](std::int64_t d) {
      return in_.strides[i][static_cast<std::size_t>(d)];
    };
    std::ranges::stable_sort(out, std::less(), stride);
    gaps = gaps || (!out.empty() && stride(out.front()) != 1);
    return out;
  }
  /// Bytes of a tensor in memory: a dimension of stride 0 repeats what is there.
  double bytes(std::size_t i) const {
    if (!is_tensor(i)) return 0;
    const auto sizes = dims(i);
    double out = element(i);
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      const bool repeats =
          i < in_.strides.size() && d < in_.strides[i].size() && in_.strides[i][d] == 0;
      if (!repeats) out *= static_cast<double>(sizes[d]);
    }
    return out;
  }

 private:
  const timeline::OpArgs& in_;
};

Made made(WorkClass work_class, double flops, double bytes, std::string_view type) {
  OperatorWork out;
  out.work_class = work_class;
  out.flops = flops;
  out.bytes = bytes;
  out.data_type = type;
  return out;
}

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
    if (groups < 1) return {};
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
// cudnn_convolution_backward_{input,weight} of torch before 1.11, whose caller has all
// three tensors.
Made one_gradient(const Call& around) { return gradients(around, 1, 0, 2, false, 1); }

// --- Attention -------------------------------------------------------------------

// The places of query, of a causal mask, and of lengths of sequences that vary, which
// the trace does not hold; -1: there are none.
struct Heads {
  int query, causal, lengths = -1;
  bool heads_first = true;  // [batch, heads, length, size], else length before heads.
  bool backward = false;
};

Made attend(const Call& call, const Heads& at) {
  const auto first = static_cast<std::size_t>(at.query);
  auto q = call.dims(first), k = call.dims(first + 1), v = call.dims(first + 2);
  if (q.size() != 4 || k.size() != 4 || v.size() != 4 || !call.is_tensor(first)) {
    return {};
  }
  if (at.lengths >= 0 && call.is_tensor(static_cast<std::size_t>(at.lengths))) {
    return {};
  }
  if (!at.heads_first) {
    for (auto* sizes : {&q, &k, &v}) std::swap((*sizes)[1], (*sizes)[2]);
  }
  if (q[0] != k[0] || k[2] != v[2] || q[3] != k[3] || q[2] < 1 || k[2] < 1) return {};
  const auto causal = call.value(static_cast<std::size_t>(at.causal));
  const bool masked = causal == "True" || causal == "true" || causal == "1" ||
                      causal == "2";  // A type of mask of `_efficient_attention_*`.
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
  const auto read = call.bytes(first) + call.bytes(first + 1) + call.bytes(first + 2);
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

// --- Bound by memory -------------------------------------------------------------

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
Made grouped_product(const Call& call) {
  const auto a = call.dims(0), b = call.dims(1);
  if (a.size() != 2 || b.size() != 3 || a[1] != b[1] || !call.is_tensor(0)) return {};
  const auto out = static_cast<double>(a[0]) * static_cast<double>(b[2]);
  auto work = made(WorkClass::kProduct, 2 * out * static_cast<double>(a[1]),
                   call.bytes(0) + call.bytes(1) + std::max(2.0, call.element(0)) * out,
                   call.type(0));
  return work;
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

// --- The table -------------------------------------------------------------------

struct Row {
  Made (*of)(const Call&);
  std::string_view names;  // Between blanks, without "aten::".
};

constexpr Heads kFlash{.query = 0, .causal = 8, .lengths = 3, .heads_first = false};
constexpr Heads kFlashBackward{1, 11, 6, false, true};
constexpr Heads kEfficient{.query = 0, .causal = 9, .lengths = 4, .heads_first = false};
constexpr Heads kEfficientBackward{1, 14, 6, false, true};
constexpr Heads kCudnn{.query = 0, .causal = 10, .lengths = 4};
constexpr Heads kOfBias{.query = 0, .causal = 6};
constexpr Heads kOfNone{.query = 0, .causal = 4};

constexpr std::array kRows = {
    Row{products, " mm bmm _scaled_mm _int_mm "},
    Row{added_products, " addmm addmm_ _addmm_activation baddbmm baddbmm_ "},
    Row{linear, " linear mkldnn_linear "},
    Row{vectors, " mv dot vdot "},
    Row{added_vectors, " addmv addmv_ "},
    Row{convolution<Places{0, 1, 3, 4, 5, 8, 6, 7}>,
        " convolution _convolution convolution_overrideable "},
    Row{convolution<Places{0, 1, 3, 4, 5, 6}>,
        " conv1d conv2d conv3d cudnn_convolution_relu "},
    Row{convolution<Places{0, 1, 6, 7, 8, 9}>, " cudnn_convolution_add_relu "},
    Row{convolution<Places{0, 1, 3, 2, 4, 5}>, " cudnn_convolution "},
    Row{convolution<Places{0, 1, 4, 3, 5, 6}>,
        " miopen_convolution mkldnn_convolution "},
    Row{convolution<Places{0, 1, 4, 5, 6, -1}>,
        " _conv_depthwise2d conv_depthwise3d slow_conv_dilated2d "},
    Row{convolution<Places{0, 1, 4, 5, -1, -1}>,
        " thnn_conv2d _slow_conv2d_forward slow_conv3d_forward "},
    Row{both_gradients, " convolution_backward "},
    Row{attention<kFlash>, " _flash_attention_forward "},
    Row{attention<kFlashBackward>, " _flash_attention_backward "},
    Row{attention<kEfficient>, " _efficient_attention_forward "},
    Row{attention<kEfficientBackward>, " _efficient_attention_backward "},
    Row{attention<kCudnn>, " _cudnn_attention_forward "},
    Row{attention<kOfBias>,
        " _scaled_dot_product_cudnn_attention "
        "_scaled_dot_product_efficient_attention "},
    Row{attention<kOfNone>,
        " _scaled_dot_product_flash_attention "
        "_scaled_dot_product_flash_attention_for_cpu "},
    Row{attention<Heads{1, 11, 6, true, true}>,
        " _scaled_dot_product_flash_attention_backward "},
    Row{attention<Heads{1, 11, -1, true, true}>,
        " _scaled_dot_product_efficient_attention_backward "},
    Row{attention<Heads{1, 14, 9, true, true}>,
        " _scaled_dot_product_cudnn_attention_backward "},
    Row{arithmetic,
        " add sub rsub mul div pow neg abs exp log sqrt rsqrt reciprocal square "
        "sigmoid "
        "tanh relu gelu silu mish leaky_relu elu hardswish hardsigmoid hardtanh "
        "softplus "
        "clamp clamp_min clamp_max threshold sin cos erf floor ceil round sign where "
        "masked_fill addcmul addcdiv lerp maximum minimum remainder fmod bitwise_and "
        "bitwise_or bitwise_not gelu_backward silu_backward sigmoid_backward "
        "tanh_backward threshold_backward leaky_relu_backward elu_backward "
        "hardswish_backward hardsigmoid_backward hardtanh_backward softplus_backward "},
    Row{comparison,
        " eq ne lt le gt ge logical_and logical_or logical_not isnan isinf isfinite "},
    Row{reduction,
        " sum mean amax amin max min argmax argmin prod norm linalg_vector_norm any "
        "all "
        "std var "},
    Row{grouped_product, " _grouped_mm "},
    Row{softmax, " _softmax _log_softmax "},
    Row{layer_norm, " native_layer_norm _fused_rms_norm rms_norm "},
    Row{norm_forward,
        " native_batch_norm cudnn_batch_norm "
        "miopen_batch_norm native_group_norm "},
    Row{norm_backward,
        " _softmax_backward_data _log_softmax_backward_data native_layer_norm_backward "
        "native_batch_norm_backward cudnn_batch_norm_backward "
        "miopen_batch_norm_backward native_group_norm_backward "
        "_fused_rms_norm_backward "},
    Row{copy, " copy_ "},
    Row{fill, " fill_ zero_ "},
    Row{embedding, " embedding "},
    Row{index_select, " index_select "},
    Row{gather, " gather "},
};

const Row* row_of(std::string_view name) {
  const auto quoted = " " + std::string(name) + " ";
  for (const auto& row : kRows) {
    if (row.names.find(quoted) != std::string_view::npos) return &row;
  }
  return nullptr;
}

// Inductor's kernels list their pointers, each read or written at least once:
// triton_poi_ are elementwise, triton_red_ and triton_per_ reduce.
Made of_inductor(std::string_view name, const Call& call) {
  double bytes = 0, most = 0, largest = 0;
  int as_large = 0;
  std::string_view type;
  for (std::size_t i = 0; i < call.size(); ++i) {
    if (!call.is_tensor(i) || call.dims(i).empty()) continue;
    if (type.empty()) type = call.type(i);
    const auto own = call.bytes(i);
    bytes += own;
    as_large = own > largest ? 1 : as_large + (own == largest);
    largest = std::max(largest, own);
    most = std::max(most, product(call.dims(i)));
  }
  if (bytes <= 0) return {};
  // Written where it was read: `in_out_ptr`.
  if (as_large == 1) bytes += largest;
  // What of their tensors such kernels read is not in the trace.
  for (const auto* part :
       {"slice", "select", "split", "embedding", "index", "gather", "scatter", "cat"}) {
    if (name.find(part) != name.npos) return {};
  }
  const bool reduces =
      name.starts_with("triton_red_") || name.starts_with("triton_per_");
  return made(reduces ? WorkClass::kReduction : WorkClass::kElementwise, most, bytes,
              type);
}

// No tensor has a dimension of 2^31 and more in one launch, nor a number of it: sums
// of two of them cannot overflow.
bool is_plausible(const timeline::OpArgs& inputs) {
  constexpr auto kMost = std::int64_t{1} << 31;
  return std::ranges::all_of(inputs.dims, [&](const auto& sizes) {
    return std::ranges::all_of(sizes, [&](auto size) { return size < kMost; });
  });
}

}  // namespace

Made work_of(std::string_view name, const timeline::OpArgs& inputs,
             const timeline::OpArgs* around) {
  if (!is_plausible(inputs)) return {};
  const Call call(inputs);
  if (name.starts_with("triton_poi_") || name.starts_with("triton_red_") ||
      name.starts_with("triton_per_")) {
    return of_inductor(name, call);
  }
  if (!name.starts_with("aten::")) return {};
  name.remove_prefix(6);
  if (around != nullptr && name.starts_with("cudnn_convolution_backward_")) {
    return one_gradient(Call(*around));
  }
  const auto* row = row_of(name);
  if (row == nullptr && name.ends_with('_')) {  // In place: the same work.
    name.remove_suffix(1);
    row = row_of(name);
  }
  return row == nullptr ? Made{} : row->of(call);
}

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

// SPDX-License-Identifier: BSD-3-Clause
// patterns/matrix_kernels.cpp: what operators compute, by their inputs.
#include "patterns/matrix_kernels.h"

#include <algorithm>
#include <vector>

namespace tta::patterns {
namespace {

using Dims = std::vector<std::int64_t>;

double product(const Dims& dims, std::size_t from = 0) {
  double out = 1;
  for (auto i = from; i < dims.size(); ++i) out *= static_cast<double>(dims[i]);
  return out;
}

bool positive(const Dims& dims) {
  return !dims.empty() && std::all_of(dims.begin(), dims.end(),
                                      [](std::int64_t size) { return size > 0; });
}

std::optional<Product> matrix_product(const Dims& a, Dims b, bool transposed,
                                      std::int64_t element) {
  if (a.size() < 2 || b.size() < 2 || !positive(a) || !positive(b)) return {};
  if (transposed) std::swap(b[b.size() - 1], b[b.size() - 2]);
  Product p;
  p.inner = a.back();
  p.columns = b.back();
  if (b[b.size() - 2] != p.inner) return {};
  double batch = 1;
  if (a.size() == 3 && b.size() == 3) {
    if (a[0] != b[0]) return {};
    batch = static_cast<double>(a[0]);
    p.rows = a[1];
  } else if (b.size() == 2) {
    const auto rows = product(a) / static_cast<double>(p.inner);
    if (rows > 1e15) return {};
    p.rows = static_cast<std::int64_t>(rows);
  } else {
    return {};
  }
  const auto m = static_cast<double>(p.rows), k = static_cast<double>(p.inner),
             n = static_cast<double>(p.columns);
  p.flops = 2 * batch * m * k * n;
  p.bytes = static_cast<double>(element) * batch * (m * k + k * n + m * n);
  return p;
}

// `small` is the side of a convolution with the smaller pictures (the output), `large`
// the other; either may be unknown (empty), as may the weight.
std::optional<Product> convolution(const Dims& small, const Dims& large,
                                   const Dims& weight, std::int64_t element) {
  const auto& known = small.empty() ? large : small;
  if (known.size() < 3 || known.size() > 5 || !positive(known)) return {};
  const auto stride_loss = product(Dims(known.size() - 2, 2));  // stride 2 in each
  double batch = static_cast<double>(known[0]), out = 0, in = 0, window = 1, pixels = 0;
  double in_size = 0;
  if (!weight.empty()) {
    if (weight.size() != known.size() || !positive(weight)) return {};
    out = static_cast<double>(weight[0]);
    in = static_cast<double>(weight[1]);  // of one group
    window = product(weight, 2);
  } else {
    if (small.empty() || large.size() != small.size() || !positive(large)) return {};
    out = static_cast<double>(small[1]);
    in = static_cast<double>(large[1]);
  }
  pixels = small.empty() ? product(large, 2) / stride_loss : product(small, 2);
  // A weight does not tell the groups; no input has fewer channels than one of them.
  in_size =
      large.empty() ? batch * std::max(in, out) * pixels * stride_loss : product(large);
  Product p;
  p.convolution = true;
  p.flops = 2 * batch * out * pixels * in * window;
  p.bytes = static_cast<double>(element) *
            (in_size + batch * out * pixels + out * in * window);
  return p;
}

}  // namespace

std::optional<Product> product_of(std::string_view name, const timeline::OpArgs& args) {
  if (!name.starts_with("aten::")) return {};
  name.remove_prefix(6);
  // Which inputs are the two factors, or grad_output, input and weight.
  const auto dims = [&](std::size_t i) {
    return i < args.dims.size() ? args.dims[i] : Dims{};
  };
  const auto type = [&](std::size_t i) -> std::string_view {
    return i < args.types.size() ? std::string_view(args.types[i]) : "";
  };
  const bool adds = name == "addmm" || name == "baddbmm";
  const std::size_t first = adds || name.starts_with("cudnn_convolution_backward_");
  const auto element = timeline::element_bytes(type(first));
  if (element < 0 || type(first) != type(first + 1)) return {};
  std::optional<Product> out;
  if (adds || name == "mm" || name == "bmm" || name == "linear") {
    out = matrix_product(dims(first), dims(first + 1), name == "linear", element);
  } else if (name == "cudnn_convolution") {
    out = convolution({}, dims(0), dims(1), element);
  } else if (name == "convolution_backward") {
    out = convolution(dims(0), dims(1), dims(2), element);
  } else if (name == "cudnn_convolution_backward") {
    out = convolution(dims(1), dims(0), dims(2), element);
  } else if (name == "cudnn_convolution_backward_input") {
    out = convolution(dims(1), {}, dims(2), element);
  } else if (name == "cudnn_convolution_backward_weight") {
    out = convolution(dims(1), dims(2), {}, element);
  }
  if (out) out->data_type = type(first);
  return out;
}

}  // namespace tta::patterns

// SPDX-License-Identifier: BSD-3-Clause
// work/operator_work.cpp: an operator's row in the tables, and Inductor's kernels.
#include "work/operator_work.h"

#include <algorithm>

#include "work/call.h"

namespace tta::work {
namespace {

const WorkRow* row_of(std::string_view name) {
  const auto quoted = " " + std::string(name) + " ";
  for (const auto rows : {matrix_rows(), memory_rows()}) {
    for (const auto& row : rows) {
      if (row.names.find(quoted) != std::string_view::npos) return &row;
    }
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
  std::string plain;
  if (name.starts_with("aten::")) {
    name.remove_prefix(6);
  } else if (name.find("::") == name.npos) {
    plain = "::" + std::string(name);
    name = plain;
  }
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

}  // namespace tta::work

// SPDX-License-Identifier: BSD-3-Clause
// patterns/describing_names.cpp: views, sizes and reservations of ATen.
#include "patterns/describing_names.h"

#include <algorithm>
#include <array>

namespace tta::patterns {
namespace {

constexpr std::array<std::string_view, 48> kDescribing = {
    "aten::t",
    "aten::numpy_T",
    "aten::transpose",
    "aten::transpose_",
    "aten::permute",
    "aten::movedim",
    "aten::view",
    "aten::view_as",
    "aten::_unsafe_view",
    "aten::_reshape_alias",
    "aten::reshape",
    "aten::flatten",
    "aten::unflatten",
    "aten::expand",
    "aten::expand_as",
    "aten::broadcast_tensors",
    "aten::as_strided",
    "aten::as_strided_",
    "aten::select",
    "aten::slice",
    "aten::narrow",
    "aten::diagonal",
    "aten::unsqueeze",
    "aten::unsqueeze_",
    "aten::squeeze",
    "aten::squeeze_",
    "aten::split",
    "aten::split_with_sizes",
    "aten::chunk",
    "aten::unbind",
    "aten::detach",
    "aten::detach_",
    "aten::alias",
    "aten::lift_fresh",
    "aten::conj",
    "aten::resolve_conj",
    "aten::resolve_neg",
    "aten::result_type",
    "aten::empty",
    "aten::empty_like",
    "aten::empty_strided",
    "aten::new_empty",
    "aten::new_empty_strided",
    "aten::resize_",
    "aten::set_",
    "aten::size",
    "aten::unflatten_dense_tensors",
    "aten::view_as_real",
};

}  // namespace

bool describes_a_tensor(std::string_view name) {
  return std::find(kDescribing.begin(), kDescribing.end(), name) != kDescribing.end();
}

}  // namespace tta::patterns

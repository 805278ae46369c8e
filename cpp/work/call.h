// SPDX-License-Identifier: BSD-3-Clause
// work/call.h: one call's inputs by their places, as the sums of work read them; used
// by the files of this folder only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "timeline/event_args.h"
#include "trace/args.h"
#include "work/operator_work.h"

namespace tta::work {

using Numbers = std::vector<std::int64_t>;
using Made = std::optional<OperatorWork>;

inline double product(const Numbers& sizes, std::size_t from = 0) {
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

inline Made made(WorkClass work_class, double flops, double bytes,
                 std::string_view type) {
  OperatorWork out;
  out.work_class = work_class;
  out.flops = flops;
  out.bytes = bytes;
  out.data_type = type;
  return out;
}

/// What calls of some operators are.
struct WorkRow {
  Made (*of)(const Call&);
  /// Between blanks: of torch without "aten::", of libraries in full, with "::" before
  /// a name that has no namespace.
  std::string_view names;
};

/// Operators limited by arithmetic as a rule, and those that move memory.
std::span<const WorkRow> matrix_rows();
std::span<const WorkRow> memory_rows();

/// A gradient of torch before 1.11, by the inputs of its caller, which has all three
/// tensors: `cudnn_convolution_backward_input` and `_weight`.
Made one_gradient(const Call& around);

}  // namespace tta::work

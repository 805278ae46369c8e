// SPDX-License-Identifier: BSD-3-Clause
// pipeline/comparison/reasons.h: why one side of an aligned row is slower.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "pipeline/report.h"

namespace tta::pipeline {

/// One side of a row, added up, per step or of all.
struct RowFigures {
  double calls = 0;
  double work = 0;            ///< Kernels, copies and memsets.
  std::size_t operators = 0;  ///< Names with work of their own.
  std::int64_t device_ns = 0;
  double work_ns = 0;  ///< Sum of the durations.
  // Of calls with a row of the roofline, and of those with an efficiency.
  double flops = 0, bytes = 0, known_ns = 0, roofline_us = 0, judged_ns = 0;
  const RooflineRow* main = nullptr;  ///< The costliest of them.
  double main_ns = 0;
  std::string_view kernel;  ///< With the most time, or a copy or memset.
  bool is_kernel = false;
  double kernel_ns = 0, kernels = 0;  ///< Of those with this name.
};

/// What is known of less of a row's time says nothing of the row.
inline constexpr double kKnownShare = 0.8;
/// Sides that differ by less are the same.
inline constexpr double kSameShare = 0.05;

/// Returns the differences that make `slow` slower, as words of it against `fast`:
/// those of amounts first, then those of speed. Each is larger than kSameShare.
std::vector<Reason> reasons_of(const RowFigures& slow, const RowFigures& fast);

}  // namespace tta::pipeline

// SPDX-License-Identifier: BSD-3-Clause
// features/examples.h: small traces, and what is known of their windows by hand.
//
// These are the values of the columns: if you change one, raise kFeatureVersion in
// features/feature_table.h as well.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "support/trace_text.h"

namespace tta::features {

struct Known {
  std::string_view column;
  double value = 0;  ///< NaN: it must be missing.
  std::size_t window = 0;
};

struct Example {
  const char* name;
  test::TraceText text;
  std::vector<Known> values;
  std::uint32_t max_events = 128;
};

std::vector<Example> device_examples();
std::vector<Example> kernel_examples();
std::vector<Example> host_examples();

inline constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

/// A length and what it is divided by, as the table has it.
inline double ratio(double length, double by) { return std::log2(1 + length / by); }
inline double count(double n) { return std::log2(1 + n); }

}  // namespace tta::features

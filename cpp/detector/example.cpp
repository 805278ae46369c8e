// SPDX-License-Identifier: BSD-3-Clause
// detector/example.cpp: refuses labels that do not fit.
#include "detector/example.h"

#include <array>
#include <cmath>
#include <map>
#include <stdexcept>
#include <string>

namespace tta::detector {
namespace {

template <typename T>
void check_length(std::span<const T> labels, std::size_t wanted, const char* name) {
  if (labels.empty() || labels.size() == wanted) return;
  throw std::invalid_argument(std::string(name) + " must have " +
                              std::to_string(wanted) + " values, not " +
                              std::to_string(labels.size()));
}

void check_flags(std::span<const std::int8_t> labels, const char* name) {
  for (const auto label : labels) {
    if (label >= -1 && label <= 1) continue;
    throw std::invalid_argument(std::string(name) + " must be 1, 0 or -1, not " +
                                std::to_string(label));
  }
}

}  // namespace

void check(std::span<const Example> examples, std::size_t patterns) {
  std::map<std::int64_t, std::array<int, 2>> twins;
  for (const auto& e : examples) {
    const auto count = static_cast<std::int64_t>(e.arrays->count());
    if (e.first < 0 || e.first >= e.last || e.last > count) {
      throw std::invalid_argument("an example must have windows, within the " +
                                  std::to_string(count) + " of its trace, not " +
                                  std::to_string(e.first) + " to " +
                                  std::to_string(e.last));
    }
    const auto windows = static_cast<std::size_t>(e.last - e.first);
    check_length(e.any, 2 * windows, "any");
    check_length(e.types, patterns * windows, "types");
    check_length(e.recoverable, windows, "recoverable");
    check_flags(e.any, "any");
    check_flags(e.types, "types");
    check_flags({&e.bad, 1}, "bad");
    for (const auto share : e.recoverable) {
      if (std::isnan(share) || (share >= 0 && share <= 1)) continue;
      throw std::invalid_argument("recoverable must be 0 to 1, or NaN, not " +
                                  std::to_string(share));
    }
    if (e.pair < 0) continue;
    if (e.bad < 0) throw std::invalid_argument("of a pair it must be told who is bad");
    if (++twins[e.pair][static_cast<std::size_t>(e.bad)] > 1) {
      throw std::invalid_argument("pair " + std::to_string(e.pair) +
                                  " must have one slow example and one fixed one");
    }
  }
}

}  // namespace tta::detector

// SPDX-License-Identifier: BSD-3-Clause
// detector/stack_check.cpp: refuses stacks that nobody fitted.
#include <cmath>
#include <stdexcept>
#include <string>

#include "detector/stack.h"

namespace tta::detector {
namespace {

constexpr const char* kSides[] = {"cpu", "gpu"};

[[noreturn]] void no_stack(const std::string& what) {
  throw std::invalid_argument(what);
}

void check_finite(std::span<const float> values, const std::string& name) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) continue;
    no_stack(name + ": value " + std::to_string(i) + " is no finite number");
  }
}

}  // namespace

void check(const Mix& mix) {
  for (const auto& side : mix.sides) check_finite(side, "mix.sides");
  check_finite(mix.types, "mix.types");
  if (!(mix.recoverable >= 0 && mix.recoverable <= 1)) {
    no_stack("mix.recoverable must be 0 to 1");
  }
}

void check(const Calibration& calibration) {
  for (std::size_t side = 0; side < 2; ++side) {
    const auto name = std::string("calibration.") + kSides[side] + ": value ";
    float last = 0;
    for (std::size_t i = 0; i < calibration.negatives[side].size(); ++i) {
      const auto value = calibration.negatives[side][i];
      if (!(value >= 0 && value <= 1)) {
        no_stack(name + std::to_string(i) + " is no probability");
      }
      if (value < last) no_stack(name + std::to_string(i) + " is not sorted");
      last = value;
    }
  }
}

void check(const Known& known, const Tables& tables) {
  if (!(known.window_from >= 0 && known.trace_from >= 0)) {
    no_stack("known: window_from and trace_from must not be negative");
  }
  const auto columns = tables.window_columns();
  const auto rows = known.whiten.size() / columns;
  if (known.center.empty() && known.middle.empty() && known.whiten.empty()) return;
  if (known.center.size() != columns || known.middle.size() != columns ||
      known.whiten.size() != rows * columns || rows == 0) {
    no_stack("known: center, middle and rows of whiten must have " +
             std::to_string(columns) + " columns");
  }
  check_finite(known.center, "known.center");
  check_finite(known.middle, "known.middle");
  check_finite(known.whiten, "known.whiten");
}

void check(const Stack& stack, const Tables& tables) {
  check(stack.mix);
  check(stack.calibration);
  check(stack.known, tables);
  if (!stack.trees.fits(tables)) no_stack("trees: made for other columns or patterns");
}

}  // namespace tta::detector

// SPDX-License-Identifier: BSD-3-Clause
// Every column has the values that were worked out by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "features/examples.h"
#include "features/made.h"

namespace tta::features {
namespace {

std::vector<Example> examples() {
  auto out = device_examples();
  for (auto* more : {&kernel_examples, &host_examples}) {
    for (auto& example : more()) out.push_back(std::move(example));
  }
  return out;
}

TEST(Values, AreThoseWorkedOutByHand) {
  for (const auto& example : examples()) {
    const Made made(example.text, example.max_events);
    for (const auto& known : example.values) {
      const auto value = static_cast<double>(made(known.column, known.window));
      if (std::isnan(known.value)) {
        EXPECT_TRUE(std::isnan(value)) << example.name << ": " << known.column;
      } else {
        EXPECT_NEAR(value, known.value, 1e-6 * (1 + std::abs(known.value)))
            << example.name << ": " << known.column << ", window " << known.window;
      }
    }
  }
}

TEST(Values, AreKnownOfEveryColumn) {
  std::set<std::string_view> told;
  for (const auto& example : examples()) {
    for (const auto& known : example.values) {
      if (known.value > 0) told.insert(known.column);
    }
  }
  for (const auto& column : window_columns().first(kStatistics)) {
    EXPECT_TRUE(told.contains(column.name))
        << column.name << " is above 0 in no example: add one";
  }
}

}  // namespace
}  // namespace tta::features

// SPDX-License-Identifier: BSD-3-Clause
// Casts of a program without a device, on hand-worked traces.
#include "patterns/found.h"

namespace tta::patterns {
namespace {

constexpr auto kCast = R"("Input type": ["c10::Half", "float", "Scalar"])";
constexpr auto kStrided = R"("Input type": ["float", "float", "Scalar"],
    "Input Strides": [[64, 1], [1, 64], []])";

TraceText on_cpu(double length, const std::string& args) {
  return TraceText()
      .op("aten::to", 0, length)
      .op("aten::_to_copy", 1, length - 2)
      .op("aten::copy_", 2, length - 4, args)
      .op("aten::mm", length, 2000 - length);
}

TraceText of_another_thread() {
  return TraceText()
      .op("aten::mm", 0, 2000)
      .op("aten::mm", 2000, 1)
      .op("aten::mm", 2001, 1)
      .op("aten::mm", 2002, 1)
      .op("aten::_to_copy", 1, 400, "", 2)
      .op("aten::copy_", 2, 398, kCast, 2);
}

TEST(CpuCast, Costs) {
  const Cost cases[] = {
      {"under a share", on_cpu(99, kCast), 0},
      {"a share", on_cpu(100, kCast), 100'000},
      {"a change of layout", on_cpu(200, kStrided), 0},
      {"unknown types", on_cpu(200, ""), 0},
      {"of a thread that holds no one up", of_another_thread(), 0},
      {"on a device", on_cpu(200, kCast).launched(2'000, 2'010, 50, 1), 0},
  };
  expect_costs(kCpuCast, cases);
}

TEST(CpuCast, IsAnUpperBound) {
  const auto found = first(on_cpu(200, kCast), kCpuCast);
  EXPECT_EQ(figures(found), "cpu_cast x1: 200 us, 0 idle");
  EXPECT_EQ(found.operator_name, "aten::to");
  EXPECT_TRUE(found.estimate);
}

}  // namespace
}  // namespace tta::patterns

// SPDX-License-Identifier: BSD-3-Clause
// Hand-worked devices: which work hides which.
#include "timeline/overlap_facts.h"

#include <gtest/gtest.h>

#include "support/trace_text.h"

namespace tta::timeline {
namespace {

using test::TraceText;

std::vector<OverlapFacts> facts_of(const TraceText& text) {
  const auto trace = text.load();
  return overlap_facts(make_timeline(trace));
}

TEST(OverlapFacts, UnionsAndWhatTheyShare) {
  const auto facts = facts_of(TraceText()
                                  .kernel(0, 100, 1)
                                  .kernel(50, 100, 2, "gemm", 8)  // together 0 to 150
                                  .kernel(120, 80, 3, "ncclDevKernel_AllReduce", 9)
                                  .kernel(180, 40, 4, "ncclKernel_AllGather", 10)
                                  .copy("Memcpy HtoD", 140, 70, 5, 1000));
  ASSERT_EQ(facts.size(), 1u);
  EXPECT_EQ(facts[0].device, 0);
  EXPECT_EQ(facts[0].compute_ns, 150'000);
  EXPECT_EQ(facts[0].comm_ns, 100'000);        // 120 to 220
  EXPECT_EQ(facts[0].copy_ns, 70'000);         // 140 to 210
  EXPECT_EQ(facts[0].comm_hidden_ns, 30'000);  // 120 to 150
  EXPECT_EQ(facts[0].copy_hidden_ns, 10'000);  // 140 to 150
}

TEST(OverlapFacts, AMemsetIsNoCopyAndADeviceHidesOnlyItsOwn) {
  const auto facts =
      facts_of(TraceText()
                   .device_work("gpu_memset", "Memset (Device)", 0, 10, 1, "", 7, 0)
                   .kernel(0, 100, 2, "gemm", 7, 1)
                   .kernel(0, 50, 3, "ncclDevKernel_AllReduce", 8, 0));
  ASSERT_EQ(facts.size(), 2u);
  EXPECT_EQ(facts[0].compute_ns, 0);
  EXPECT_EQ(facts[0].copy_ns, 0);
  EXPECT_EQ(facts[0].comm_ns, 50'000);
  EXPECT_EQ(facts[0].comm_hidden_ns, 0);
  EXPECT_EQ(facts[1].device, 1);
  EXPECT_EQ(facts[1].compute_ns, 100'000);
  EXPECT_EQ(facts[1].comm_hidden_ns, 0);
}

TEST(OverlapFacts, WorkThatOnlyTouchesIsNotHidden) {
  const auto facts = facts_of(TraceText()
                                  .kernel(0, 100, 1)
                                  .kernel(100, 50, 2, "ncclDevKernel_AllReduce", 8)
                                  .kernel(150, 50, 3));
  ASSERT_EQ(facts.size(), 1u);
  EXPECT_EQ(facts[0].comm_hidden_ns, 0);
  EXPECT_EQ(facts[0].compute_ns, 150'000);
}

TEST(OverlapFacts, NoneWithoutADevice) {
  EXPECT_TRUE(facts_of(TraceText().op("aten::mm", 0, 100)).empty());
}

}  // namespace
}  // namespace tta::timeline

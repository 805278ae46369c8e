// SPDX-License-Identifier: BSD-3-Clause
// A full queue is evidence, not cost: nothing is claimed, and no host-side rule fires.
#include <gtest/gtest.h>

#include "patterns/device_text.h"
#include "patterns/found.h"

namespace tta::patterns {
namespace {

TEST(QueueFull, ClaimsNothingAndLeavesNothingToTheHost) {
  KernelText trace;
  for (int i = 0; i < 1100; ++i) trace.kernel("a", 20, shape(800));
  for (int i = 0; i < 50; ++i) {  // a slow call for each place that gets free
    trace.kernel("a", 20, shape(800));
    trace.launch += 200;
  }
  trace.wait();
  const auto found = find_in(trace.text);
  EXPECT_TRUE(found.findings.empty());
  for (const auto& claim : found.claims) {
    EXPECT_NE(claim.pattern, PatternId::kQueueFull);
  }
}

TEST(QueueFull, IsNoUserFinding) {
  EXPECT_FALSE(info(PatternId::kQueueFull).user_finding);
}

}  // namespace
}  // namespace tta::patterns

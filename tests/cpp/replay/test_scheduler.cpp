// SPDX-License-Identifier: BSD-3-Clause
// When the operations of a program come to pass, in nanoseconds worked by hand.
#include <gtest/gtest.h>

#include "replay/scheduler.h"

namespace tta::replay {
namespace {
TEST(Scheduler, Empty) { EXPECT_EQ(schedule(Program{}).end, 0); }
}  // namespace
}  // namespace tta::replay

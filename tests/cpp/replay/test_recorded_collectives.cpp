// SPDX-License-Identifier: BSD-3-Clause
// Which events of a rank are collectives, and what is known of them.
#include "replay/condense.h"

#include <gtest/gtest.h>

#include <string>

#include "replay/samples.h"

namespace tta::replay {
namespace {

using test::Replayed;
using test::TraceText;

constexpr const char* kArgs =
    ", \"Collective name\": \"allreduce\", \"Process Group Name\": \"3\", "
    "\"Process Group Ranks\": \"[0, 2]\", \"Seq\": 7, \"In msg nelems\": 10, "
    "\"Out msg nelems\": 10, \"dtype\": \"Float\"";

TEST(Collectives, AKernelSaysWhichCollectiveItIs) {
  TraceText t;
  t.call("cudaLaunchKernel", 10, 5, 1)
      .device_work("kernel", "gemm", 20, 100, 1, "", 7, 0)
      .call("cudaLaunchKernel", 30, 5, 2)
      .device_work("kernel", "ncclDevKernel_AllReduce", 130, 50, 2, kArgs, 7, 0)
      .device_work("kernel", "ncclDevKernel_AllReduce", 200, 50, 99, kArgs, 7, 0);
  const Replayed r(t.text());
  const auto found = recorded_collectives(r.model, r.args);
  ASSERT_EQ(found.size(), 1u) << "who launched the other is not known";
  const auto& m = found[0];
  EXPECT_EQ(m.name, "allreduce");
  EXPECT_EQ(m.group, "3");
  EXPECT_EQ(m.ranks, "[0, 2]");
  EXPECT_EQ(m.sequence, 7);
  EXPECT_EQ(m.bytes, 40);
  EXPECT_EQ(m.asked, r.trace.columns.ts[r.row("gemm")] + 10'000);
  EXPECT_EQ(r.model.points[m.begin].recorded, 120'000);
  EXPECT_EQ(r.model.points[m.end].recorded, 170'000);
}

TEST(Collectives, AMessageSaysWhoIsAtItsOtherEnd) {
  TraceText t;
  t.call("cudaLaunchKernel", 10, 5, 1)
      .device_work("kernel", "ncclDevKernel_SendRecv", 20, 100, 1,
                   ", \"Collective name\": \"send\", \"Dst Rank\": 4", 7, 0);
  const Replayed r(t.text());
  ASSERT_EQ(recorded_collectives(r.model, r.args).size(), 1u);
  EXPECT_EQ(recorded_collectives(r.model, r.args)[0].peer, 4);
}

TEST(Collectives, OlderKernelsAreCalledAfterTheirCollective) {
  TraceText t;
  t.call("cudaLaunchKernel", 10, 5, 1)
      .device_work("kernel", "ncclKernel_AllReduce_RING_LL_Sum_float", 20, 9, 1, "", 7,
                   0);
  const Replayed r(t.text());
  const auto found = recorded_collectives(r.model, r.args);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].name, "ncclKernel_AllReduce_RING_LL_Sum_float");
  EXPECT_EQ(found[0].sequence, -1);
}

TEST(Collectives, OnTheHostARangeOfTheBackendIsOne) {
  TraceText t;
  t.op("aten::mm", 0, 100).op("c10d::allreduce_", 100, 10);
  t.note("gloo:all_reduce", 120, 200, 9);
  t.python("<built-in method wait of pybind11_builtins.record>", 115, 215);
  t.op("aten::mm", 340, 100);
  const Replayed r(t.text());
  const auto found = recorded_collectives(r.model, r.args);
  ASSERT_EQ(found.size(), 1u);
  const auto& m = found[0];
  EXPECT_EQ(m.name, "gloo:all_reduce");
  EXPECT_EQ(m.asked, r.model.begin + 100'000);
  EXPECT_EQ(r.model.points[m.begin].recorded, 120'000);
  EXPECT_EQ(r.model.points[m.end].recorded, 320'000);
  EXPECT_EQ(m.waited.length(), 215'000 - 0) << "the main thread waited all that time";
}

}  // namespace
}  // namespace tta::replay

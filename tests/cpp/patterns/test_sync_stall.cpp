// SPDX-License-Identifier: BSD-3-Clause
// The rule on hand-worked traces: it fires, it stays silent, and where the line is.
#include <gtest/gtest.h>

#include "patterns/find.h"
#include "patterns/found.h"
#include "patterns/rule.h"
#include "patterns/waits.h"
#include "support/trace_text.h"

namespace tta::patterns {
namespace {

using test::TraceText;

// A step: 1,000 us of kernel, .item() waits for it, 400 us of host work, next launch.
TraceText item_in_step(double wait_from = 20) {
  return TraceText()
      .python("train.py(12): step", 0, 3000)
      .launched(0, 10, 1000, 1)
      .op("aten::item", wait_from - 2, 1030 - wait_from)
      .op("aten::_local_scalar_dense", wait_from - 1, 1028 - wait_from)
      .call("cudaMemcpyAsync", wait_from, 1015 - wait_from, 2)
      .copy("Memcpy DtoH (Device -> Pageable)", 1010, 2, 2, 4)
      .call("cudaStreamSynchronize", 1016, 5, 3)
      .launched(1400, 1412, 1588, 4);
}

TEST(SyncStall, CostsTheIdleTimeAfterTheWait) {
  const auto found = find_in(item_in_step());
  ASSERT_EQ(found.findings.size(), 1u);
  const auto& f = found.findings[0];
  EXPECT_EQ(f.pattern, PatternId::kSyncStall);
  EXPECT_EQ(f.subtype, static_cast<int>(SyncKind::kScalarRead));
  EXPECT_EQ(f.count, 1u);
  // From the copy's end (1012 us) to the next kernel (1412 us).
  EXPECT_EQ(f.wasted_ns, 400'000);
  ASSERT_TRUE(f.location);
  EXPECT_EQ(f.location->file, "train.py");
  EXPECT_EQ(f.location->line, 12);
  EXPECT_EQ(f.operator_name, "aten::_local_scalar_dense");
}

TEST(SyncStall, CostsNoMoreThanTheWaitItself) {
  // The host was blocked for 121 us, in the copy and the call after it: that much
  // further ahead it would have been without, and no more.
  const auto found = find_in(item_in_step(900));
  EXPECT_EQ(wasted(found, PatternId::kSyncStall), 121'000);
}

TEST(SyncStall, IsSilentWhereTheDeviceStaysBusy) {
  // Another stream works on: 1,000 us of waiting cost nothing.
  const auto found = find_in(item_in_step().launched(5, 15, 1450, 9, 8));
  EXPECT_EQ(wasted(found, PatternId::kSyncStall), 0);
}

TEST(SyncStall, IsSilentAtTheEndOfTheTrace) {
  const auto found = find_in(TraceText()
                                 .launched(0, 10, 1000, 1)
                                 .op("user", 15, 1)
                                 .call("cudaDeviceSynchronize", 20, 2000, 2));
  EXPECT_TRUE(found.findings.empty());
}

TEST(SyncStall, UnderFiftyMicrosecondsIsNoFinding) {
  const auto stall = [](double next) {
    return find_in(TraceText()
                       .launched(0, 10, 1000, 1)
                       .call("cudaStreamSynchronize", 20, 995, 2)
                       .launched(next - 7, next, 1000, 3));
  };
  EXPECT_EQ(wasted(stall(1059), PatternId::kSyncStall), 0);
  EXPECT_EQ(wasted(stall(1060), PatternId::kSyncStall), 50'000);
}

TEST(SyncStall, NamesItsKindByTheOperatorAround) {
  const auto kind = [](const char* op, const char* call) {
    const auto found = find_in(TraceText()
                                   .launched(0, 10, 1000, 1)
                                   .op(op, 18, 1005)
                                   .call(call, 20, 995, 2)
                                   .launched(1300, 1310, 1000, 3));
    return found.findings.empty() ? -1 : found.findings.at(0).subtype;
  };
  EXPECT_EQ(kind("aten::nonzero", "cudaStreamSynchronize"),
            static_cast<int>(SyncKind::kDataDependentShape));
  EXPECT_EQ(kind("aten::copy_", "cudaStreamSynchronize"),
            static_cast<int>(SyncKind::kBlockingCopy));
  EXPECT_EQ(kind("mine", "cudaEventSynchronize"), static_cast<int>(SyncKind::kEvent));
  EXPECT_EQ(kind("mine", "hipDeviceSynchronize"),
            static_cast<int>(SyncKind::kExplicit));
  EXPECT_EQ(kind("mine", "cudaEventQuery"), -1);
  // cuDNN measuring its algorithms is nobody's synchronization.
  EXPECT_EQ(kind("aten::cudnn_convolution", "cudaEventSynchronize"), -1);
}

// The wait is on thread 1, the next launch comes from thread 2.
TraceText on_two_threads(double busy_from, const char* op = "serve") {
  return TraceText()
      .launched(0, 10, 1000, 1)
      .call("cudaStreamSynchronize", 20, 995, 2)
      .op(op, busy_from, 1390 - busy_from, "", 2)
      .call("cudaLaunchKernel", 1380, 5, 3, 2)
      .kernel(1410, 1000, 3);
}

TEST(SyncStall, OfAnotherThreadCountsUntilWorkBegins) {
  const auto stall = [](const TraceText& text) {
    return wasted(find_in(text), PatternId::kSyncStall);
  };
  // The device is dry from 1,010 us, thread 2 goes to work at 1,100 us.
  EXPECT_EQ(stall(on_two_threads(1100)), 90'000);
  // At work during the wait: it did not wait.
  EXPECT_EQ(stall(on_two_threads(500)), 0);
  // Any thread's work ends it.
  EXPECT_EQ(stall(on_two_threads(1100).op("aten::add", 1070, 5, "", 3)), 60'000);
  // Autograd's thread works for the one that waited.
  EXPECT_EQ(stall(on_two_threads(1100, "autograd::engine::evaluate_function: Mul")),
            400'000);
}

TEST(SyncStall, AmongManyThreadsNobodyKnowsWhoWaitsForWhom) {
  const auto third = [](const char* op) {
    return wasted(
        find_in(on_two_threads(1100, op).call("cudaStreamSynchronize", -50, 5, 9, 3)),
        PatternId::kSyncStall);
  };
  EXPECT_EQ(third("serve"), 0);
  EXPECT_EQ(third("autograd::engine::evaluate_function: Mul"), 400'000);
}

// A wait of `wait` us, then kernels of 10 us whose launches come 100 us late each.
TraceText late_after_a_wait(double wait) {
  TraceText text;
  text.launched(0, 10, 1000, 1).call("cudaStreamSynchronize", 1015 - wait, wait, 2);
  for (int i = 0; i < 5; ++i) {
    const double at = 1110 + i * 110;
    text.launched(at - 7, at, 10, 10 + i);
  }
  return text;
}

TEST(SyncStall, GoesOnWhileTheSameThreadIsLate) {
  const auto stall = [](const TraceText& text) {
    return wasted(find_in(text), PatternId::kSyncStall);
  };
  // Gaps of 100 us at 1,010, 1,120, 1,230, ...: as long as the wait was.
  EXPECT_EQ(stall(late_after_a_wait(250)), 250'000);
  EXPECT_EQ(stall(late_after_a_wait(995)), 500'000);
  // A launch in the queue at 1,120: the host had caught up.
  EXPECT_EQ(stall(late_after_a_wait(250)
                      .call("cudaLaunchKernel", 1104, 2, 99)
                      .kernel(1125, 95, 99)),
            100'000);
}

TEST(SyncStall, ACallThatIsShortWaitedForNothing) {
  const auto many = [](double wait) {
    TraceText text;
    for (int i = 0; i < 10; ++i) {
      const double at = i * 1000;
      text.launched(at, at + 10, 500, 10 + i)
          .call("cudaStreamSynchronize", at + 511 - wait, wait, 100 + i);
    }
    return wasted(find_in(text), PatternId::kSyncStall);
  };
  EXPECT_EQ(many(49.9), 0);
  EXPECT_EQ(many(50), 9 * 50'000);
}

TEST(SyncStall, TheOutermostOperatorGivesTheKind) {
  const auto found = find_in(TraceText()
                                 .launched(0, 10, 1000, 1)
                                 .op("aten::repeat_interleave", 15, 1010)
                                 .op("aten::_local_scalar_dense", 18, 1000)
                                 .call("cudaStreamSynchronize", 20, 995, 2)
                                 .launched(1300, 1310, 1000, 3));
  EXPECT_EQ(found.findings.at(0).subtype,
            static_cast<int>(SyncKind::kDataDependentShape));
}

TEST(SyncStall, ASmallPinnedCopyOnAFreeDeviceBlocksNobody) {
  TraceText text;
  for (int i = 0; i < 50; ++i) {  // the copy is over before its call returns
    const double at = i * 600;
    text.call("cudaMemcpyAsync", at, 12, 100 + i)
        .copy("Memcpy HtoD (Pinned -> Device)", at + 4, 2, 100 + i, 4)
        .launched(at + 500, at + 510, 50, 1 + i);
  }
  EXPECT_EQ(wasted(find_in(text), PatternId::kSyncStall), 0);
}

TEST(SyncStall, ClockSkewDoesNotHideIt) {
  // The call seems to return 3 us before its copy ends.
  const auto found =
      find_in(TraceText()
                  .launched(0, 10, 1000, 1)
                  .op("aten::item", 18, 1020)
                  .call("cudaMemcpyAsync", 20, 989, 2)
                  .copy("Memcpy DtoH (Device -> Pageable)", 1010, 2, 2, 4)
                  .launched(1400, 1412, 1588, 4));
  EXPECT_EQ(wasted(found, PatternId::kSyncStall), 400'000);
}

TEST(ListWaits, HasEachWaitCostlyOrNot) {
  const auto trace = TraceText()
                         .python("train.py(12): step", 0, 3000)
                         .launched(0, 10, 1000, 1)
                         .op("aten::item", 15, 1010)
                         .call("cudaMemcpyAsync", 20, 980, 2)
                         .copy("Memcpy DtoH (Device -> Pageable)", 1000, 2, 2, 4)
                         .call("cudaStreamSynchronize", 1005, 5, 3)
                         .host("cuda_runtime", "cudaDeviceSynchronize", 3100, 900)
                         .load();
  const auto waits = list_waits(timeline::make_timeline(trace));
  ASSERT_EQ(waits.size(), 1u);  // nothing follows it; the profiler's own is left out
  EXPECT_EQ(waits[0].begin, 20'000);
  EXPECT_EQ(waits[0].end, 1'010'000);
  EXPECT_EQ(waits[0].operator_name, "aten::item");
  EXPECT_EQ(waits[0].location->line, 12);
}

}  // namespace
}  // namespace tta::patterns

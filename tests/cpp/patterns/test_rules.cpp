// SPDX-License-Identifier: BSD-3-Clause
// Each rule on hand-worked traces: it fires, it stays silent, and where the line is.
#include <gtest/gtest.h>

#include "patterns/find.h"
#include "patterns/rule.h"
#include "patterns/waits.h"
#include "support/trace_text.h"

namespace tta::patterns {
namespace {

using test::TraceText;

Findings find_in(const TraceText& text) {
  const auto trace = text.load();
  auto found = find(timeline::make_timeline(trace));
  return found;
}

std::int64_t wasted(const Findings& found, PatternId pattern) {
  std::int64_t sum = 0;
  for (const auto& f : found.findings) sum += f.pattern == pattern ? f.wasted_ns : 0;
  return sum;
}

TEST(Table, IsInTheOrderOfItsIds) {
  for (std::size_t i = 0; i < patterns().size(); ++i) {
    EXPECT_EQ(static_cast<std::size_t>(patterns()[i].id), i);
    EXPECT_FALSE(patterns()[i].advice.empty());
  }
}

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

TEST(SyncStall, OfAnotherThreadCountsOnlyIfItHeldTheLaunchUp) {
  // The wait is on thread 1, the next launch comes from thread 2 (autograd's, say).
  const auto stall = [](double busy_from) {
    return find_in(TraceText()
                       .launched(0, 10, 1000, 1)
                       .call("cudaStreamSynchronize", 20, 995, 2)
                       .op("backward", busy_from, 1390 - busy_from, "", 2)
                       .call("cudaLaunchKernel", 1380, 5, 3, 2)
                       .kernel(1410, 1000, 3));
  };
  EXPECT_EQ(wasted(stall(1100), PatternId::kSyncStall), 400'000);
  EXPECT_EQ(wasted(stall(500), PatternId::kSyncStall), 0);
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

TEST(DataloaderBound, OfAnotherProcessOrAPrefetchThreadHoldsNobodyUp) {
  const char* mark = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__";
  const auto other_process =
      find_in(TraceText()
                  .launched(0, 10, 90, 1)
                  .host("user_annotation", mark, 50, 950, "", 1, 200)
                  .launched(1100, 1110, 890, 2));
  EXPECT_EQ(wasted(other_process, PatternId::kDataloaderBound), 0);
  const auto prefetch = find_in(TraceText()
                                    .launched(0, 10, 90, 1)
                                    .note(mark, 50, 950, 9)
                                    .op("aten::slow_on_cpu", 90, 1000)
                                    .launched(1100, 1110, 890, 2));
  EXPECT_EQ(wasted(prefetch, PatternId::kDataloaderBound), 0);
}

TEST(DataloaderBound, CountsIdleTimeInsideTheLoaderOnly) {
  const auto found = find_in(
      TraceText()
          .launched(0, 10, 90, 1)
          .note("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 50, 950)
          .launched(1100, 1110, 890, 2));
  EXPECT_EQ(wasted(found, PatternId::kDataloaderBound), 900'000);  // 100 to 1000 us
  EXPECT_EQ(found.findings.at(0).subtype, 0);
  EXPECT_NE(found.findings.at(0).message.find("num_workers=0"), std::string::npos);
}

TEST(DataloaderBound, IsSilentWhileTheDeviceWorks) {
  const auto found =
      find_in(TraceText()
                  .launched(0, 10, 1990, 1)
                  .note("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
                        50, 950));
  EXPECT_TRUE(found.findings.empty());
}

TEST(DataloaderBound, WithoutADeviceItIsTheHostsTime) {
  const auto found =
      find_in(TraceText()
                  .op("aten::mm", 0, 500)
                  .note("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
                        500, 500));
  ASSERT_EQ(found.findings.size(), 1u);
  EXPECT_EQ(found.findings[0].idle_ns, 0);
  EXPECT_EQ(found.findings[0].wasted_ns, 500'000);
  EXPECT_EQ(found.findings[0].message.find("device"), std::string::npos);
}

// n operators of 50 us, each with one kernel of 5 us.
TraceText eager(int n, double period, double kernel = 5) {
  TraceText text;
  for (int i = 0; i < n; ++i) {
    const double at = i * period;
    text.op("aten::add", at, period * 0.8).launched(at + 10, at + 20, kernel, i + 1);
  }
  return text;
}

TEST(LaunchBound, ManySmallKernelsBehindABusyHost) {
  const auto found = find_in(eager(100, 50));
  EXPECT_EQ(found.findings.size(), 1u);
  // 99 gaps of 45 us and the first of 20 us; the one at the end has no launch.
  EXPECT_EQ(wasted(found, PatternId::kLaunchBound), 99 * 45'000 + 20'000);
}

TEST(LaunchBound, IsSilentWhereTheQueueIsFull) {
  TraceText text;
  for (int i = 0; i < 100; ++i) {  // all launched early, 3 us between kernels
    text.launched(i * 6, 1000 + i * 50, 47, i + 1);
  }
  text.op("busy", 0, 990);
  EXPECT_EQ(wasted(find_in(text), PatternId::kLaunchBound), 0);
}

TEST(LaunchBound, APauseIsNotDispatch) {
  // 5 ms of Python between two operators, again and again: not launches' fault.
  const auto found = find_in(eager(20, 5000).python("train.py(1): slow", 0, 100'000));
  EXPECT_EQ(wasted(found, PatternId::kLaunchBound), 0);
}

TEST(LaunchBound, WithoutSourceLinesNamesThePhase) {
  const auto found = find_in(
      eager(100, 50).note("ProfilerStep#1", -1, 6000).note("## forward ##", 0, 5000));
  EXPECT_EQ(found.findings.at(0).operator_name, "## forward ##");
}

TEST(LaunchBound, AFewLateLaunchesAreIncidents) {
  EXPECT_EQ(wasted(find_in(eager(9, 50)), PatternId::kLaunchBound), 0);
  EXPECT_GT(wasted(find_in(eager(10, 50)), PatternId::kLaunchBound), 0);
}

TEST(LaunchBound, OperatorsThatLaunchNothingAreNotLaunching) {
  // 700 us of operators on CPU tensors before each launch.
  const auto cpu_work = [](const char* range) {
    TraceText text;
    for (int i = 0; i < 20; ++i) {
      const double at = i * 800;
      if (*range != 0) text.op(range, at, 799);
      for (int k = 0; k < 35; ++k) text.op("aten::cos", at + k * 20, 15);
      text.op("aten::add", at + 710, 40).launched(at + 720, at + 730, 60, i + 1);
    }
    return wasted(find_in(text), PatternId::kLaunchBound);
  };
  EXPECT_EQ(cpu_work(""), 0);
  EXPECT_EQ(cpu_work("DistributedDataParallel.forward"), 0);
}

TEST(LaunchBound, ASlowRuntimeCallBetweenLaunchesIsLeftOut) {
  auto text = eager(20, 100);  // gaps of 95 us, of which 60 are in cudaMalloc
  for (int i = 0; i < 20; ++i) text.call("cudaMalloc", i * 100 + 30, 60, 1000 + i);
  EXPECT_EQ(wasted(find_in(text), PatternId::kLaunchBound), 19 * 35'000 + 20'000);
}

TEST(LaunchBound, UnderFivePercentIsNormal) {
  EXPECT_EQ(wasted(find_in(eager(100, 200, 196)), PatternId::kLaunchBound), 0);
  EXPECT_GT(wasted(find_in(eager(100, 200, 180)), PatternId::kLaunchBound), 0);
}

TraceText copies(int n, int bytes) {
  TraceText text;
  for (int i = 0; i < n; ++i) {
    const double at = i * 40;
    text.op("aten::to", at, 35)
        .op("aten::copy_", at + 1, 33)
        .call("cudaMemcpyAsync", at + 5, 8, 100 + i)
        .copy("Memcpy HtoD (Pageable -> Device)", at + 10, 2, 100 + i, bytes);
  }
  return text.launched(n * 40, n * 40 + 10, 500, 1);
}

TEST(FrequentMemcpy, CostsIdleTimeInTheCopyCallsAndBareCopyTime) {
  const auto found = find_in(copies(20, 256));
  ASSERT_FALSE(found.findings.empty());
  EXPECT_EQ(found.findings[0].pattern, PatternId::kFrequentMemcpy);
  EXPECT_EQ(found.findings[0].count, 20u);
  // 35 us a call of which the device copies 2; nothing else runs.
  EXPECT_EQ(found.findings[0].idle_ns, 20 * 33'000);
  EXPECT_EQ(found.findings[0].wasted_ns, 20 * 35'000);
}

TEST(FrequentMemcpy, FewOrLargeCopiesAreNone) {
  EXPECT_EQ(wasted(find_in(copies(10, 256)), PatternId::kFrequentMemcpy), 0);
  EXPECT_GT(wasted(find_in(copies(11, 256)), PatternId::kFrequentMemcpy), 0);
  EXPECT_EQ(wasted(find_in(copies(20, 64 << 10)), PatternId::kFrequentMemcpy), 0);
}

TEST(FrequentMemcpy, RangesAroundTheCopiesChangeNothing) {
  const auto found =
      find_in(copies(20, 256).op("DistributedDataParallel.forward", 0, 790));
  EXPECT_EQ(found.findings.at(0).wasted_ns, 20 * 35'000);
}

TEST(CommExposed, IsTheTimeCollectivesRunAlone) {
  const auto trace = [](double compute) {
    return TraceText()
        .launched(0, 10, compute, 1)
        .call("cudaLaunchKernel", 6, 5, 2)
        .kernel(20, 980, 2, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 8);
  };
  EXPECT_EQ(wasted(find_in(trace(490)), PatternId::kCommExposed), 500'000);
  EXPECT_EQ(wasted(find_in(trace(990)), PatternId::kCommExposed), 0);
}

TEST(ProfilerArtifact, IsAccountedForAndNeverAFinding) {
  const auto found = find_in(TraceText()
                                 .launched(0, 10, 490, 1)
                                 .host("overhead", "Buffer Flush", 500, 400, "", 0, -1)
                                 .launched(950, 1000, 500, 2));
  EXPECT_TRUE(found.findings.empty());
  std::int64_t artifact = 0;
  for (const auto& claim : found.claims) {
    if (claim.pattern == PatternId::kProfilerArtifact)
      artifact += claim.end - claim.begin;
  }
  EXPECT_EQ(artifact, 400'000);
}

TEST(ProfilerArtifact, LeavesLoadingAndOtherDevicesAlone) {
  const char* mark = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";
  const auto loading =
      find_in(TraceText()
                  .launched(0, 10, 90, 1)
                  .note(mark, 50, 950)
                  .host("overhead", "Buffer Flush", 100, 800, "", 0, -1)
                  .launched(1100, 1110, 890, 2));
  EXPECT_EQ(wasted(loading, PatternId::kDataloaderBound), 900'000);
  // The last synchronization waits for device 1; device 0 is not idle because of it.
  const auto two = find_in(TraceText()
                               .launched(0, 10, 90, 1)
                               .call("cudaLaunchKernel", 6, 5, 2)
                               .kernel(20, 1980, 2, "gemm", 7, 1)
                               .call("cudaDeviceSynchronize", 20, 1985, 3));
  std::int64_t artifact = 0;
  for (const auto& claim : two.claims) artifact += claim.end - claim.begin;
  EXPECT_LE(artifact, 10'000);  // what is left of it after all work, once a device
}

TEST(Ledger, GivesEachNanosecondOnce) {
  // Loader inside the gap after a sync: the loader's part is not the sync's as well.
  const auto found =
      find_in(TraceText()
                  .launched(0, 10, 990, 1)
                  .call("cudaStreamSynchronize", 20, 985, 2)
                  .note("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                        1010, 490)
                  .launched(1600, 1610, 1000, 3));
  EXPECT_EQ(wasted(found, PatternId::kDataloaderBound), 490'000);
  EXPECT_EQ(wasted(found, PatternId::kSyncStall), 120'000);  // 610 - 490
}

TEST(Find, SmallPlacesAreGatheredInOneFinding) {
  TraceText text;
  for (int i = 0; i < 30; ++i) {
    const double at = i * 1000;
    text.python("m.py(" + std::to_string(i + 1) + "): f", at, 990)
        .launched(at, at + 10, 500, 2 * i + 1)
        .call("cudaStreamSynchronize", at + 10, 505, 2 * i + 2);
  }
  const auto found = find_in(text);
  ASSERT_EQ(found.findings.size(), 11u);
  std::uint64_t count = 0, without_place = 0;
  for (const auto& f : found.findings) {
    count += f.count;
    without_place += !f.location;
  }
  EXPECT_EQ(count, 29u);
  EXPECT_EQ(without_place, 1u);
}

TEST(DurationText, RoundsToThreeFigures) {
  EXPECT_EQ(duration_text(1'234), "1.2 us");
  EXPECT_EQ(duration_text(312'400), "312 us");
  EXPECT_EQ(duration_text(12'440'000), "12.4 ms");
  EXPECT_EQ(duration_text(3'200'000'000), "3.20 s");
}

}  // namespace
}  // namespace tta::patterns

// SPDX-License-Identifier: BSD-3-Clause
// The rule on hand-worked traces: it fires, it stays silent, and where the line is.
#include <gtest/gtest.h>

#include "patterns/find.h"
#include "patterns/found.h"
#include "patterns/rule.h"
#include "support/trace_text.h"

namespace tta::patterns {
namespace {

using test::TraceText;

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

TEST(FrequentMemcpy, StepsShareTheCopies) {
  const auto in_steps = [](int n) {
    return copies(n, 256)
        .note("ProfilerStep#1", 0, 400)
        .note("ProfilerStep#2", 400, 460);
  };
  EXPECT_EQ(wasted(find_in(in_steps(20)), PatternId::kFrequentMemcpy), 0);
  EXPECT_GT(wasted(find_in(in_steps(21)), PatternId::kFrequentMemcpy), 0);
}

TEST(FrequentMemcpy, UnknownSizesAreNotSmall) {
  EXPECT_EQ(wasted(find_in(copies(20, -1)), PatternId::kFrequentMemcpy), 0);
}

TEST(FrequentMemcpy, KernelsBesideTheCopiesMakeThemFree) {
  EXPECT_EQ(wasted(find_in(copies(20, 256).kernel(0, 810, 9, "gemm", 9)),
                   PatternId::kFrequentMemcpy),
            0);
}

TEST(FrequentMemcpy, ALongCallIsAnotherMatter) {
  const auto with_one_of = [](double length) {
    return copies(20, 256)
        .op("aten::to", 2000, length)
        .op("aten::copy_", 2001, length - 2)
        .call("cudaMemcpyAsync", 1995 + length, 2, 50)
        .copy("Memcpy HtoD (Pageable -> Device)", 1998 + length, 2, 50, 256)
        .launched(2000 + length, 2010 + length, 500, 2);
  };
  // All of it but the 1 us from the call's end to the copy; of the longer one the copy.
  EXPECT_EQ(wasted(find_in(with_one_of(1000)), PatternId::kFrequentMemcpy),
            20 * 35'000 + 999'000);
  EXPECT_EQ(wasted(find_in(with_one_of(1001)), PatternId::kFrequentMemcpy),
            20 * 35'000 + 2'000);
}

// MTIA's rows: copies name no call, kernels do.
TraceText& dma(TraceText& text, bool up, double at, int bytes) {
  return text.device_work("mtia_ccp_events", "dma_request", at, 10, 0,
                          std::string(", \"direction\": \"") +
                              (up ? "HOST_TO_DEVICE" : "DEVICE_TO_HOST") +
                              "\", \"size\": " + std::to_string(bytes),
                          1, 0);
}

TraceText& mtia_kernel(TraceText& text, double at) {
  return text
      .host("mtia_runtime", "runFunction - job_prep_and_submit_for_execution", at, 20,
            "\"correlation\": 1")
      .device_work("mtia_ccp_events", "fc-dtype_Float", at + 10, 500, 1, "", 1, 0);
}

// n operators of 800 us that copy on the host: both inputs come down, one goes up.
TraceText round_trips(int n, int up = 1 << 20) {
  TraceText text;
  for (int i = 0; i < n; ++i) {
    const double at = i * 1000;
    text.op("aten::copy_", at, 800).op("aten::_copy_from", at + 2, 796);
    dma(text, false, at + 200, 1 << 20);
    dma(text, false, at + 400, 1 << 20);
    dma(text, true, at + 600, up);
  }
  return mtia_kernel(text, n * 1000);
}

TEST(FrequentMemcpy, WhatGoesToTheHostAndBackIsARoundTripOfAnySize) {
  const auto found = find_in(round_trips(4));
  const auto& f = first(found, PatternId::kFrequentMemcpy);
  EXPECT_EQ(f.subtype, 1);
  EXPECT_EQ(f.count, 4u);
  // Of aten::_copy_from 796 us each, 30 of them copies.
  EXPECT_EQ(f.idle_ns, 4 * 766'000);
  EXPECT_EQ(f.wasted_ns, 4 * 796'000);
  EXPECT_EQ(wasted(find_in(round_trips(3)), PatternId::kFrequentMemcpy), 0);
}

TEST(FrequentMemcpy, OtherDataUpThanDownIsNoRoundTrip) {
  EXPECT_EQ(wasted(find_in(round_trips(4, 1 << 19)), PatternId::kFrequentMemcpy), 0);
}

TEST(FrequentMemcpy, TwoThreadsAtWorkLeaveItInDoubt) {
  EXPECT_EQ(wasted(find_in(round_trips(4).op("aten::add", 0, 3900, "", 2)),
                   PatternId::kFrequentMemcpy),
            0);
}

TEST(FrequentMemcpy, CopiesBesideTheOperatorsSayNothingOfThem) {
  // Two of 14 copies run when no operator does: more than one in ten.
  auto text = round_trips(4);
  dma(dma(text, true, 900, 480), true, 1900, 480);
  EXPECT_EQ(wasted(find_in(text), PatternId::kFrequentMemcpy), 0);
}

TEST(FrequentMemcpy, ByTimeTooSmallCopiesAreThoseOfCopyOperators) {
  const auto uploads = [](const char* op) {
    TraceText text;
    for (int i = 0; i < 11; ++i) {
      text.op(op, i * 100, 80);
      dma(text, true, i * 100 + 40, 480);
    }
    return wasted(find_in(mtia_kernel(text, 1100)), PatternId::kFrequentMemcpy);
  };
  EXPECT_EQ(uploads("aten::to"), 11 * 80'000);
  EXPECT_EQ(uploads("aten::add"), 0);
}

TEST(FrequentMemcpy, AKernelsProgramIsNoCopyOfTheUsers) {
  TraceText text;
  for (int i = 0; i < 11; ++i) {
    text.op("aten::to", i * 100, 80)
        .host("mtia_runtime", "runFunction", i * 100 + 50, 20,
              "\"correlation\": " + std::to_string(i + 1));
    dma(text, true, i * 100 + 40, 480);
    text.device_work("mtia_ccp_events", "cast", i * 100 + 60, 10, i + 1, "", 1, 0);
  }
  EXPECT_EQ(wasted(find_in(text), PatternId::kFrequentMemcpy), 0);
}

}  // namespace
}  // namespace tta::patterns

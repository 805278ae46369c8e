// SPDX-License-Identifier: BSD-3-Clause
// The rule on hand-worked traces: it fires, it stays silent, and where the line is.
#include <gtest/gtest.h>

#include <vector>

#include "patterns/find.h"
#include "patterns/found.h"
#include "patterns/rule.h"
#include "support/trace_text.h"

namespace tta::patterns {
namespace {

using test::TraceText;

// Steps of the given lengths in us. Each has a kernel of 600 us at its begin, and one
// of 100 us that is launched as it ends; no event says why it took longer.
TraceText steps(const std::vector<double>& lengths) {
  TraceText text;
  double at = 0;
  int id = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    text.note("ProfilerStep#" + std::to_string(i), at, lengths[i]);
    text.launched(at, at + 10, 600, ++id);
    text.launched(at + lengths[i] - 110, at + lengths[i] - 100, 100, ++id);
    at += lengths[i];
  }
  return text;
}

std::int64_t outliers(const TraceText& text) {
  return wasted(find_in(text), PatternId::kStepOutlier);
}

TEST(StepOutlier, OneStepFarLongerThanTheOthers) {
  const auto found = find_in(steps({1000, 1000, 1000, 1000, 5000, 1000}));
  ASSERT_EQ(found.findings.size(), 1u);
  EXPECT_EQ(found.findings[0].pattern, PatternId::kStepOutlier);
  EXPECT_EQ(found.findings[0].wasted_ns, 4'000'000);  // more than a usual step
  EXPECT_NE(found.findings[0].message.find("ProfilerStep#4"), std::string::npos);
}

TEST(StepOutlier, TheFirstStepIsNone) {
  EXPECT_EQ(outliers(steps({5000, 1000, 1000, 1000, 1000, 1000})), 0);
}

TEST(StepOutlier, OfFewStepsNoneIsUsual) {
  EXPECT_EQ(outliers(steps({1000, 1000, 1000, 1000, 5000})), 0);
}

TEST(StepOutlier, AQuarterMoreIsWithinWhatStepsDo) {
  EXPECT_EQ(outliers(steps({1000, 1000, 1000, 1000, 1250, 1000})), 0);
  EXPECT_EQ(outliers(steps({1000, 1000, 1000, 1000, 1251, 1000})), 251'000);
}

TEST(StepOutlier, WhereStepsVaryMoreIsUsual) {
  // Median 1400, deviations 0, 0, 200, 400, 890: up to 1400 + 4.45 * 200 is usual.
  EXPECT_EQ(outliers(steps({1000, 1000, 1400, 1200, 2290, 1400})), 0);
  EXPECT_GT(outliers(steps({1000, 1000, 1400, 1200, 2291, 1400})), 0);
}

TEST(StepOutlier, TheUsualStepIsThatOfTheSameProcessWithoutTheFirst) {
  auto text = steps({9000, 1000, 1000, 1000, 5000, 1000});
  for (int i = 0; i < 20; ++i) {  // short steps of a second process
    text.host("user_annotation", "ProfilerStep#" + std::to_string(i), i * 10, 10, "", 1,
              200);
  }
  const auto found = find_in(text);
  const auto& message = first(found, PatternId::kStepOutlier).message;
  EXPECT_NE(message.find("the usual 1.0 ms"), std::string::npos) << message;
}

TEST(StepOutlier, WhatAnotherRuleExplainsIsNot) {
  auto text = steps({1000, 1000, 1000, 1000, 5000, 1000});
  text.python("Python GC", 4'700, 4'100);
  const auto found = find_in(text);
  EXPECT_EQ(wasted(found, PatternId::kGcPause), 4'100'000);
  EXPECT_EQ(wasted(found, PatternId::kStepOutlier), 0);
}

TEST(StepOutlier, AStepFullOfWorkIsNone) {
  auto text = steps({1000, 1000, 1000, 1000, 5000, 1000});
  text.call("cudaLaunchKernel", 4'600, 5, 999).kernel(4'610, 4'290, 999, "long");
  EXPECT_EQ(outliers(text), 0);
}

TEST(StepOutlier, WithoutADeviceItIsTimeOutsideOperators) {
  const auto with = [](double work) {
    TraceText text;
    double at = 0;
    for (int i = 0; i < 6; ++i) {
      const double length = i == 3 ? 4'000 : 1'000;
      text.note("ProfilerStep#" + std::to_string(i), at, length);
      text.op("aten::mm", at, i == 3 ? work : 900);
      at += length;
    }
    return find_in(text);
  };
  const auto found = with(900);
  ASSERT_EQ(found.findings.size(), 1u);
  EXPECT_EQ(found.findings[0].wasted_ns, 3'000'000);
  EXPECT_EQ(found.findings[0].idle_ns, 0);
  EXPECT_TRUE(with(3'900).findings.empty());
}

TEST(StepOutlier, UnderAHundredthIsNotWorthALine) {
  std::vector<double> many(61, 1000);
  many[40] = 1'500;  // of 61.5 ms
  EXPECT_EQ(outliers(steps(many)), 0);
  many[40] = 1'700;
  EXPECT_EQ(outliers(steps(many)), 700'000);
}

// Matrix products of the given lengths one after another, launched in time; the device
// is the limit.
TraceText products(const std::vector<double>& lengths, bool with_inputs = true,
                   int kernels_each = 1) {
  TraceText text;
  double at = 1'000;
  int id = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const double call = 100.0 * static_cast<double>(i);
    text.op("aten::mm", call, 90,
            with_inputs ? R"("Input Dims": [[64, 64], [64, 64]],
                "Input type": ["float", "float"])"
                        : "");
    for (int k = 0; k < kernels_each; ++k) {
      text.launched(call + 10 + 20 * k, at, lengths[i], ++id);
      at += lengths[i];
    }
  }
  return text.call("cudaDeviceSynchronize", 900, at - 900, 999);
}

TEST(StepOutlier, OneRunOfEqualKernelsMayBeFarLonger) {
  const auto found = find_in(products({2000, 2100, 2000, 2000, 3000, 2050}));
  const auto& f = first(found, PatternId::kStepOutlier);
  EXPECT_EQ(f.subtype, 1);
  EXPECT_EQ(f.count, 1u);
  // Of 2100, 2000, 2000, 3000 and 2050 the median is 2050.
  EXPECT_EQ(f.wasted_ns, 950'000);
  EXPECT_EQ(f.idle_ns, 0);
}

TEST(StepOutlier, WhichKernelsAreEqualAndWhichOfThemIsFarLonger) {
  const auto cost = [](const std::vector<double>& lengths, bool inputs = true,
                       int each = 1) {
    return outliers(products(lengths, inputs, each));
  };
  EXPECT_EQ(cost({2000, 2000, 2000, 2000, 2000, 2500}), 500'000);
  EXPECT_EQ(cost({2000, 2000, 2000, 2000, 2000, 2499}), 0);  // under a quarter over
  EXPECT_EQ(cost({4000, 2000, 2000, 2000, 2000, 2000}), 0);  // the first may load
  EXPECT_EQ(cost({2000, 2000, 2000, 2000, 3000}), 0);        // four without the first
  EXPECT_EQ(cost({999, 999, 999, 999, 999, 1999}), 0);       // too short to tell
  // Two of five apart: the values decide, or the caches.
  EXPECT_EQ(cost({2000, 2000, 2000, 2000, 3000, 3000}), 0);
  EXPECT_EQ(cost({2000, 2000, 2000, 2000, 2000, 3000}, false), 0);
  // Parts of an operator differ by what they do.
  EXPECT_EQ(cost({2000, 2000, 2000, 2000, 2000, 3000}, true, 2), 0);
}

TEST(StepOutlier, AKernelBesideOthersIsSlowerForThat) {
  const auto text = products({2000, 2000, 2000, 2000, 2000, 3000});
  EXPECT_EQ(outliers(text), 1'000'000);
  auto beside = text;
  beside.launched(50, 12'000, 500, 77, 8);
  EXPECT_EQ(outliers(beside), 0);
}

}  // namespace
}  // namespace tta::patterns

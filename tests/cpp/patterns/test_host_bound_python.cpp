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

std::int64_t python_time(const TraceText& text) {
  return wasted(find_in(text), PatternId::kHostBoundPython);
}

// Two kernels, and 1900 us between the end of the first and the launch of the second.
TraceText two_kernels() {
  return TraceText().launched(0, 10, 90, 1).launched(2'000, 2'010, 990, 2);
}

TEST(HostBoundPython, SelfTimeBetweenLaunchesIsOfTheUsersLine) {
  const auto found = find_in(two_kernels()
                                 .python("train.py(3): step", 0, 2'050)
                                 .python("prepare.py(9): zoom", 300, 1'000)
                                 .python("scipy/zoom.py(4): zoom", 350, 900)
                                 .python("<built-in function zoom_shift>", 400, 800));
  ASSERT_EQ(found.findings.size(), 2u);
  // From the end of the first kernel to the launch of the second: 1900 us.
  EXPECT_EQ(found.findings[0].wasted_ns, 1'000'000);
  EXPECT_EQ(found.findings[0].location->file, "prepare.py");
  EXPECT_NE(found.findings[0].message.find("zoom_shift"), std::string::npos);
  EXPECT_EQ(found.findings[1].wasted_ns, 900'000);
  EXPECT_EQ(found.findings[1].location->file, "train.py");
}

std::string said(const TraceText& text) {
  return first(find_in(text), PatternId::kHostBoundPython).message;
}

TEST(HostBoundPython, ManySmallFramesBelowOneCallAreOneCost) {
  auto text = two_kernels()
                  .python("serve.py(3): main", 0, 2'050)
                  .python("lib/check.py(7): validate", 110, 1'880)
                  .python("inspect.py(3300): signature", 900, 700);
  for (int i = 0; i < 10; ++i) {  // 50 us each, 70 us apart: no one of them is long
    text.python("inspect.py(" + std::to_string(i + 1) + "): part", 901 + 70 * i, 50);
  }
  const auto message = said(text);
  // The outermost call that launches nothing has 1880 of the 1900 us.
  EXPECT_NE(message.find("1.9 ms of it in lib/check.py(7): validate"),
            std::string::npos)
      << message;
  EXPECT_EQ(message.find("part"), std::string::npos);
}

TEST(HostBoundPython, ACallThatLaunchesIsNotNamedForWhatItCalls) {
  const auto message = said(TraceText()
                                .python("serve.py(3): main", 0, 4'050)
                                .python("model.py(5): forward", 1, 4'040)
                                .launched(2, 10, 90, 1)
                                .python("inspect.py(3300): signature", 200, 1'500)
                                .launched(4'000, 4'010, 90, 2));
  EXPECT_NE(message.find("2.4 ms of it in model.py(5): forward"), std::string::npos)
      << message;
  // Of 3900 us, signature has 1500: less than most.
  EXPECT_EQ(message.find("signature"), std::string::npos);
}

TEST(HostBoundPython, WhatTorchCompileMadeIsNotCompiledAgain) {
  const auto advice = [](const char* frame) {
    return first(find_in(two_kernels().python(frame, 0, 2'050)),
                 PatternId::kHostBoundPython)
        .advice;
  };
  EXPECT_NE(
      advice("/tmp/torchinductor_root/ab/cab.py(9): call").find("reduce-overhead"),
      std::string::npos);
  EXPECT_EQ(advice("train.py(9): step").find("reduce-overhead"), std::string::npos);
}

TEST(HostBoundPython, ManyFramesCostTimeThemselves) {
  const auto with = [](int frames) {  // for two launches
    auto text = two_kernels().python("train.py(3): step", 0, 2'050);
    for (int i = 1; i < frames; ++i) text.python("train.py(5): f", 600 + i, 0.5);
    return said(text).find("with_stack") != std::string::npos;
  };
  EXPECT_FALSE(with(20));
  EXPECT_TRUE(with(21));
}

TEST(HostBoundPython, IsSilentWithoutFrames) {
  EXPECT_EQ(python_time(two_kernels()), 0);
}

TEST(HostBoundPython, TimeInOperatorsAndCallsIsNotPythons) {
  const auto found = find_in(two_kernels()
                                 .python("train.py(3): step", 0, 2'050)
                                 .op("aten::cos", 300, 600)
                                 .call("cudaGetDeviceProperties", 1'000, 500, 0));
  // 100 to 300 us is a pause of 295; 900 to 1000 is too short; 1500 to 2000.
  EXPECT_EQ(wasted(found, PatternId::kHostBoundPython), 200'000 + 500'000);
}

TEST(HostBoundPython, ShortPausesAreDispatch) {
  const auto pauses = [](double pause) {
    TraceText text;
    text.python("train.py(3): step", 0, 60 * (pause + 10));
    for (int i = 0; i < 60; ++i) {  // of the same 10 us each
      const double at = i * (pause + 10);
      text.call("cudaLaunchKernel", at, 10, i + 1).kernel(at + 10, 1, i + 1);
    }
    return python_time(text);
  };
  EXPECT_EQ(pauses(200), 0);
  // Each pause but for the kernel's 1 us; none after the last launch.
  EXPECT_EQ(pauses(201), 59 * 200'000);
}

TEST(HostBoundPython, WaitingIsNotPython) {
  for (const char* name :
       {"<built-in method acquire of _thread.lock object at 0x7f00>",
        "<built-in method poll of select.poll object at 0x7f00>",
        "<built-in method run_backward of torch._C._EngineBase object at 0x7f00>"}) {
    EXPECT_EQ(python_time(two_kernels().python(name, 0, 2'050)), 0) << name;
  }
  EXPECT_EQ(python_time(two_kernels().python("<built-in function sleep>", 0, 2'050)),
            1'900'000);
}

TEST(HostBoundPython, AThreadThatLaunchesNothingIsNotAsked) {
  EXPECT_EQ(python_time(two_kernels().python("loader.py(3): prefetch", 0, 2'050, 9)),
            0);
}

TEST(HostBoundPython, IsSilentWhileTheDeviceWorks) {
  EXPECT_EQ(python_time(TraceText()
                            .launched(0, 10, 1'995, 1)
                            .launched(2'000, 2'010, 990, 2)
                            .python("train.py(3): step", 0, 2'050)),
            0);
}

TEST(HostBoundPython, AfterTheLastLaunchOnlyWithinAStep) {
  const auto post = [](bool step) {
    auto text = TraceText().launched(0, 10, 90, 1).python("run.py(5): post", 6, 1'494);
    if (step) text.note("ProfilerStep#1", 0, 1'200);
    return python_time(text);
  };
  EXPECT_EQ(post(false), 0);
  EXPECT_EQ(post(true), 1'100'000);  // from the kernel's end to the step's
}

TEST(HostBoundPython, WithoutADeviceItIsTimeOutsideOperators) {
  const auto found = find_in(TraceText()
                                 .python("train.py(3): step", 0, 3'000)
                                 .op("aten::mm", 1'000, 500)
                                 .op("autograd", 2'000, 400, "", 2));
  // 0 to 1000 and 1500 to 3000, less what another thread computed.
  EXPECT_EQ(wasted(found, PatternId::kHostBoundPython), 1'000'000 + 1'100'000);
  EXPECT_EQ(found.findings.at(0).idle_ns, 0);
}

TEST(HostBoundPython, UnderFivePercentIsNormal) {
  const auto with = [](double length) {
    return python_time(TraceText()
                           .python("train.py(3): step", 0, length)
                           .op("aten::mm", length, 10'000 - length));
  };
  EXPECT_EQ(with(499), 0);
  EXPECT_EQ(with(500), 500'000);
}

}  // namespace
}  // namespace tta::patterns

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

// SPDX-License-Identifier: BSD-3-Clause
// The rule on hand-worked traces: it fires, it stays silent, and where the line is.
#include "patterns/found.h"

namespace tta::patterns {
namespace {

constexpr auto kStep = "train.py(3): step";

// Two kernels, and 1900 us between the end of the first and the launch of the second.
TraceText two_kernels() {
  return TraceText().launched(0, 10, 90, 1).launched(2'000, 2'010, 990, 2);
}
TraceText within(const std::string& frame, int tid = 1) {
  return two_kernels().python(frame, 0, 2'050, tid);
}

// Pauses between launches of 10 us each.
TraceText pauses(double pause) {
  TraceText text;
  text.python(kStep, 0, 60 * (pause + 10));
  for (int i = 0; i < 60; ++i) {
    const double at = i * (pause + 10);
    text.call("cudaLaunchKernel", at, 10, i + 1).kernel(at + 10, 1, i + 1);
  }
  return text;
}

TraceText after_a_launch() {
  return TraceText().launched(0, 10, 90, 1).python("run.py(5): post", 6, 1'494);
}

TraceText on_the_host(double length) {
  return TraceText().python(kStep, 0, length).op("aten::mm", length, 10'000 - length);
}

// Late launches 200 us apart with functions of `python` us between, entered after each
// launch, and `frames` more frames within.
TraceText functions(double python, int frames = 0) {
  TraceText text;
  text.python(kStep, 0, 40 * 200);
  for (int i = 0; i < 40; ++i) {
    const double at = i * 200;
    text.op("aten::add", at, 20).launched(at + 10, at + 15, 5, i + 1);
    text.python("ops.py(8): wrapper", at + 30, python);
    for (int k = 0; k < frames; ++k)
      text.python("ops.py(2): f", at + 31 + k * 0.5, 0.4);
    text.op("aten::view", at + 35 + python, 2);
  }
  return text;
}

TEST(HostBoundPython, HasTheGapsBeforeLaunchesThatAreMostlyPython) {
  // Of gaps of 195 us a function of 150: what is left is the launches'.
  EXPECT_EQ(wasted(functions(150), kHostBoundPython), 39 * 150'000);
  EXPECT_EQ(wasted(functions(150), kLaunchBound), 39 * 45'000 + 15'000);
  EXPECT_EQ(wasted(functions(90), kHostBoundPython), 0);  // not most of the gap
  // A hundred frames of it are a hundred microseconds of recording.
  EXPECT_EQ(wasted(functions(150, 100), kHostBoundPython), 0);
}

// Operators 20 us apart with a launch each, after every tenth a pause.
TraceText unrecorded(double pause) {
  TraceText text;
  double at = 0;
  for (int i = 0; i < 60; ++i) {
    text.op("aten::add", at, 15).launched(at + 5, at + 12, 5, i + 1);
    at += i % 10 == 9 ? 20 + pause : 20;
  }
  return text;
}

TEST(HostBoundPython, HasPausesOfWhichNothingIsRecorded) {
  // A pause ends with the next operator, and its first 5 us are a gap as any other. The
  // rule alone, so the replay need not be reliable.
  const auto found = first(unrecorded(1'000), kHostBoundPython);
  EXPECT_EQ(figures(found), "host_bound_python.unrecorded x5: 5000 us, 5000 idle");
  EXPECT_TRUE(says(found.message, "between two operators: most likely"));
  const Cost cases[] = {
      {"what lasts for long may be anything", unrecorded(600'000), 0},
      {"a loader's time is the loader's",
       unrecorded(1'000)
           .note("enumerate(DataLoader)#_Iter.__next__", 196, 1'015)
           .note("enumerate(DataLoader)#_Iter.__next__", 1'396, 1'015),
       3 * 1'000'000},
      {"another thread may hold it up",
       unrecorded(1'000)
           .op("aten::cpu", 0, 10'000, "", 2)
           .call("cudaLaunchKernel", 10'001, 5, 99, 2)
           .kernel(10'010, 1, 99),
       0},
      {"inside of torch's operator it is that",
       unrecorded(1'000).op("aten::all", -1, 9'000), 0},
  };
  expect_costs(kHostBoundPython, cases);
}

TEST(HostBoundPython, IsPlacedByTheRangeAroundAPauseNotTheOneBehindIt) {
  const auto found = first(unrecorded(1'000)
                               .note("epoch", -1, 10'000)
                               .note("enumerate(DataLoader)#_Iter.__next__", 1'215, 5),
                           kHostBoundPython);
  EXPECT_EQ(found.operator_name, "epoch");
}

TEST(HostBoundPython, Costs) {
  const Cost cases[] = {
      {"without frames", two_kernels(), 0},
      // 100 to 300 us is a pause of 295; 900 to 1000 is too short; 1500 to 2000.
      {"time in operators and calls is not Python's",
       within(kStep)
           .op("aten::cos", 300, 600)
           .call("cudaGetDeviceProperties", 1'000, 500, 0),
       200'000 + 500'000},
      {"short pauses are dispatch", pauses(200), 0},
      // Each pause except the kernel's 1 us; none after the last launch.
      {"long ones", pauses(201), 59 * 200'000},
      {"acquiring is waiting",
       within("<built-in method acquire of _thread.lock object at 0x7f00>"), 0},
      {"so is polling",
       within("<built-in method poll of select.poll object at 0x7f00>"), 0},
      {"and the backward pass",
       within(
           "<built-in method run_backward of torch._C._EngineBase object at 0x7f00>"),
       0},
      {"not sleeping", within("<built-in function sleep>"), 1'900'000},
      {"a thread that launches nothing", within("loader.py(3): prefetch", 9), 0},
      {"while the device works", within(kStep).launched(5, 10, 1'985, 3, 8), 0},
      {"after the last launch", after_a_launch(), 0},
      {"in a step, from the kernel's end to its own",
       after_a_launch().step(1, 0, 1'200), 1'100'000},
      // 0 to 1000 and 1500 to 3000, less what another thread computed.
      {"without a device it is time outside operators",
       TraceText()
           .python(kStep, 0, 3'000)
           .op("aten::mm", 1'000, 500)
           .op("autograd", 2'000, 400, "", 2),
       1'000'000 + 1'100'000},
      {"under five percent", on_the_host(499), 0},
      {"five percent", on_the_host(500), 500'000},
  };
  expect_costs(kHostBoundPython, cases);
  EXPECT_EQ(first(on_the_host(500), kHostBoundPython).idle_ns, 0);
}

TEST(HostBoundPython, SelfTimeBetweenLaunchesIsOfTheUsersLine) {
  const auto text = within(kStep)
                        .python("prepare.py(9): zoom", 300, 1'000)
                        .python("scipy/zoom.py(4): zoom", 350, 900)
                        .python("<built-in function zoom_shift>", 400, 800);
  // From the end of the first kernel to the launch of the second: 1900 us.
  EXPECT_EQ(all_in(text),
            "host_bound_python.recorded x3: 1000 us, 1000 idle, prepare.py:9\n"
            "host_bound_python.recorded x1: 900 us, 900 idle, train.py:3");
  EXPECT_TRUE(says(first(text, kHostBoundPython).message, "zoom_shift"));
}

std::string said(const TraceText& text) {
  return first(text, kHostBoundPython).message;
}

TEST(HostBoundPython, ManySmallFramesBelowOneCallAreOneCost) {
  auto text = within("serve.py(3): main")
                  .python("lib/check.py(7): validate", 110, 1'880)
                  .python("inspect.py(3300): signature", 900, 700);
  for (int i = 0; i < 10; ++i) {  // 50 us each, 70 us apart: no one of them is long
    text.python("inspect.py(" + std::to_string(i + 1) + "): part", 901 + 70 * i, 50);
  }
  // The outermost call that launches nothing has 1880 of the 1900 us.
  EXPECT_TRUE(says(said(text), "1.88 ms of it in lib/check.py(7): validate"));
  EXPECT_FALSE(says(said(text), "part"));
}

TEST(HostBoundPython, ACallThatLaunchesIsNotNamedForWhatItCalls) {
  const auto message = said(TraceText()
                                .python("serve.py(3): main", 0, 4'050)
                                .python("model.py(5): forward", 1, 4'040)
                                .launched(2, 10, 90, 1)
                                .python("inspect.py(3300): signature", 200, 1'500)
                                .launched(4'000, 4'010, 90, 2));
  EXPECT_TRUE(says(message, "2.4 ms of it in model.py(5): forward"));
  EXPECT_FALSE(says(message, "signature"));  // 1500 of 3900 us: less than most
}

TEST(HostBoundPython, WhatTorchCompileMadeIsNotCompiledAgain) {
  const auto advice = [](const char* frame) {
    return first(within(frame), kHostBoundPython).advice;
  };
  EXPECT_TRUE(
      says(advice("/tmp/torchinductor_root/ab/cab.py(9): call"), "reduce-overhead"));
  EXPECT_FALSE(says(advice("train.py(9): step"), "reduce-overhead"));
}

TEST(HostBoundPython, ManyFramesCostTimeThemselves) {
  const auto with = [](int frames) {  // for two launches
    auto text = within(kStep);
    for (int i = 1; i < frames; ++i) text.python("train.py(5): f", 600 + i, 0.5);
    return said(text);
  };
  EXPECT_FALSE(says(with(20), "with_stack"));
  EXPECT_TRUE(says(with(21), "with_stack"));
}

}  // namespace
}  // namespace tta::patterns

// SPDX-License-Identifier: BSD-3-Clause
// Rules of what a Python program does between operators, on hand-worked traces: loops
// over a tensor's elements, and eager code between compiled regions.
#include "patterns/found.h"

namespace tta::patterns {
namespace {

constexpr auto kEach = "train.py(7): each";

std::string indexed(int i) {
  return "\"Concrete Inputs\": [\"\", \"0\", \"" + std::to_string(i) + "\"]";
}

// n passes of 30 us: select (4 us), 6 us of Python, tanh (10 us), 10 us of Python;
// from 100 us on, inside a function of 1 ms and more.
TraceText loop(int n, bool counts = true) {
  TraceText text;
  text.python(kEach, 0, 200 + n * 30);
  for (int i = 0; i < n; ++i) {
    const double at = 100 + i * 30;
    text.op("aten::select", at, 4, indexed(counts ? i : 3))
        .op("aten::tanh", at + 10, 10);
  }
  return text;
}

// A product of the given length in each of 20 passes.
TraceText with_work(double dur) {
  TraceText text;
  for (int i = 0; i < 20; ++i) {
    const double at = i * 100;
    text.op("aten::select", at, 5, indexed(i)).op("aten::mm", at + 10, dur);
  }
  return text;
}

TraceText with_pause(double pause) {
  TraceText text;
  for (int i = 0; i < 20; ++i) {
    text.op("aten::select", i * (10 + pause), 10, indexed(i));
  }
  return text;
}

TraceText on_a_device() {
  TraceText text;
  for (int i = 0; i < 20; ++i) {
    const double at = i * 50;
    text.op("aten::select", at, 5, indexed(i))
        .op("aten::tanh", at + 10, 30)
        .launched(at + 20, at + 27, 3, i + 1);
  }
  return text;
}

// Bodies of `calls` calls with distinct names, so that no shorter body repeats.
TraceText body(int calls) {
  TraceText text;
  text.python(kEach, -1, 40 * calls * 10 + 2);
  for (int i = 0; i < 40 * calls; ++i) {
    if (i % calls == 0) {
      text.op("aten::select", i * 10, 5, indexed(i));
    } else {
      text.op("aten::op" + std::to_string(i % calls), i * 10, 5);
    }
  }
  return text;
}

TraceText calls_on_objects() {
  TraceText text;
  text.python(kEach, -1, 1002);
  for (int i = 0; i < 20; ++i) {
    const auto object =
        "<built-in method sum of Tensor object at 0x7f" + std::to_string(i) + ">";
    const double at = i * 50;
    text.op("aten::select", at, 10, indexed(i))
        .python(object, at + 20, 15)
        .op("aten::sum", at + 22, 10);
  }
  return text;
}

TraceText names_only(int n, bool framed) {
  TraceText text;
  if (framed) text.python(kEach, -1, n * 20 + 2);
  for (int i = 0; i < n; ++i) {
    text.op("aten::slice", i * 20, 5).op("aten::relu", i * 20 + 10, 5);
  }
  return text;
}

TraceText loop_in_loop() {
  TraceText text;
  text.python(kEach, -1, 12 * 200 + 2);
  for (int i = 0; i < 12; ++i) {
    text.op("aten::select", i * 200, 10, indexed(i))
        .python("train.py(3): inner", i * 200 + 15, 180);
    for (int k = 0; k < 12; ++k) {
      text.op("aten::select", i * 200 + 20 + k * 10, 5, indexed(k));
    }
  }
  return text;
}

TraceText operator_that_indexes() {
  TraceText text;
  text.op("aten::unbind", 0, 1000);
  for (int i = 0; i < 20; ++i) text.op("aten::select", 10 + i * 10, 5, indexed(i));
  return text;
}

TEST(LoopIndexing, Costs) {
  const Cost cases[] = {
      {"nine times is no loop", loop(9), 0},
      {"ten times is", loop(10), kSome},
      {"an index that stays is a layer", loop(20, false), 0},
      {"operators of no work", with_work(19.999), 19 * 100'000 + 29'999},
      // From 20 us on the product is work: 80 us of each pass are left, of the last 10.
      {"work is not its cost", with_work(20), 19 * 80'000 + 10'000},
      {"short pauses", with_pause(200), 20 * 10'000 + 19 * 200'000},
      {"long ones are other work", with_pause(201), 20 * 10'000},
      {"the device is busy all the while", loop(100).launched(0, 10, 3200, 1), 0},
      {"bodies of few calls", body(16), kSome},
      {"of many are layers", body(17), 0},
      {"the same call on another object", calls_on_objects(), 19 * 50'000 + 35'000},
      {"names only", names_only(99, false), 0},
      {"many passes are proof", names_only(100, false), 99 * 20'000 + 15'000},
      {"or a frame", names_only(99, true), 98 * 20'000 + 15'000},
      {"an operator that indexes for itself", operator_that_indexes(), 0},
  };
  expect_costs(kLoopIndexing, cases);
  // 19 whole passes and the last up to the end of its tanh.
  EXPECT_EQ(all_in(loop(20)), "loop_indexing x20: 590 us, 0 idle, train.py:7");
  const auto claim = first(loop(20), kLoopIndexing).claims.at(0);
  EXPECT_EQ(claim.device, -1);
  EXPECT_FALSE(claim.idle);
  // Between the kernels 47 us, 2 us of them (after the launch call) unattributed.
  EXPECT_EQ(figures(find_in(on_a_device()).findings.at(0)),
            "loop_indexing x20: 880 us, 880 idle");
  EXPECT_EQ(all_in(loop_in_loop()), "loop_indexing x12: 2395 us, 0 idle, train.py:7");
}

constexpr auto kGraph = "## Call CompiledFxGraph fabc ##";
constexpr auto kCall = "torch/_dynamo/eval_frame.py(1076): compile_wrapper";
constexpr auto kWrapper = "torch/_dynamo/eval_frame.py(1423): _fn";
constexpr auto kOuter = "Torch-Compiled Region: 0/0";
constexpr auto kInner = "Torch-Compiled Region: 1/0";

// A region whose graph ends at 400, eager code, and the region that goes on at 700.
TraceText broken() {
  return TraceText()
      .op(kOuter, 0, 1000)
      .op(kGraph, 10, 390)
      .op("aten::item", 420, 100)
      .op("TorchDynamo Cache Lookup", 650, 45)
      .op(kInner, 700, 290)
      .op(kGraph, 710, 270);
}
TraceText broken_beside(double kernel) {
  return broken().launched(100, 110, kernel, 1).launched(720, 730, 200, 2);
}

// The same without a sign of the graph's end.
TraceText surely_eager() {
  return TraceText()
      .op(kOuter, 0, 1000)
      .op("aten::sin", 10, 380)
      .op("aten::item", 420, 100)
      .op("TorchDynamo Cache Lookup", 650, 45)
      .op(kInner, 700, 290);
}

// Dynamo gave up on the frame itself; its callees are compiled piece by piece.
TraceText side_by_side(bool one_call) {
  TraceText text;
  text.python("train.py(6): step", 0, 1000);
  if (one_call) {
    text.python(kCall, 1, 998);
  } else {
    text.python(kCall, 1, 300).python(kCall, 600, 399);
  }
  return text.op(kInner, 10, 290)
      .op("aten::add", 350, 200)
      .op("Torch-Compiled Region: 2/0", 610, 300);
}

// After the first graph a second one up to 600, or a function kept out of it.
TraceText framed(const char* callee) {
  return TraceText()
      .op(kOuter, 0, 1000)
      .python("train.py(6): step", 1, 998)
      .python(kWrapper, 10, 190)
      .python("<eval_with_key>.1(4): forward", 12, 186)
      .op("aten::sin", 15, 180)
      .python(kWrapper, 300, 300)
      .python(callee, 302, 296)
      .op("aten::sum", 305, 290)
      .op(kInner, 700, 290);
}

TEST(GraphBreak, Costs) {
  const Cost cases[] = {
      {"a device loses what it idles meanwhile: 500 to 700", broken_beside(390),
       200'000},
      {"nothing", broken_beside(620), 0},
      {"functions compiled apart",
       TraceText()
           .op(kOuter, 0, 300)
           .op(kGraph, 10, 280)
           .op("aten::add", 300, 300)
           .op(kInner, 600, 300)
           .op(kGraph, 610, 280),
       0},
      {"DDP's optimizer splits a graph at its buckets",
       TraceText()
           .op(kOuter, 0, 1000)
           .op(kGraph, 0, 300)
           .op("c10d::allreduce_", 300, 300)
           .op(kGraph, 600, 400),
       0},
      {"a compiled operator inside a graph",
       TraceText()
           .op(kOuter, 0, 1000)
           .op("mylib::attention", 100, 800)
           .op(kInner, 500, 300),
       0},
      {"one call's regions side by side", side_by_side(true), 310'000},
      {"those of two", side_by_side(false), 0},
      {"frames tell the graph", framed("<eval_with_key>.2(4): forward"), 100'000},
      {"from code kept out of it", framed("train.py(30): log"), 500'000},
      {"compiling is not eager code",
       broken().op("_compile.compile_inner (dynamo_timed)", 530, 110), 190'000},
      {"from the .item() on", surely_eager(), 280'000},
      {"under a hundredth", broken().op("aten::mm", 1000, 29'100), 0},
      {"a hundredth", broken().op("aten::mm", 1000, 28'900), 300'000},
  };
  expect_costs(kGraphBreak, cases);
  EXPECT_EQ(all_in(broken()), "graph_break x1: 300 us, 0 idle");  // 400 to 700
  // The line that broke.
  EXPECT_EQ(
      all_in(broken()
                 .python("train.py(6): step", 1, 998)
                 .python("train.py(8): torch_dynamo_resume_in_step_at_8", 701, 288)),
      "graph_break x1: 300 us, 0 idle, train.py:8");
}

}  // namespace
}  // namespace tta::patterns

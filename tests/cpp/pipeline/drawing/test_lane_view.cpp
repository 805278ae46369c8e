// SPDX-License-Identifier: BSD-3-Clause
// What is drawn of a trace's lanes: what keeps its name, what is merged into what.
#include "pipeline/drawing/lane_view.h"

#include <random>
#include <string>

#include "pipeline/analyzed.h"

namespace tta::pipeline {
namespace {

struct Drawn {
  explicit Drawn(const TraceText& text) : trace(text.load()), report(analyze(trace)) {}

  LaneViews operator()(std::uint64_t limit) const {
    LaneOptions options;
    options.limit = limit;
    return checked(options);
  }
  // What holds of every drawing.
  LaneViews checked(const LaneOptions& options) const {
    auto views = view_lanes(report, options);
    std::uint64_t slices = 0;
    for (const auto& lane : views.lanes) {
      slices += lane.slices.size();
      auto events = lane.hidden;
      for (const auto& s : lane.slices) {
        events += s.count;
        EXPECT_EQ(s.row.has_value(), s.count == 1);
        EXPECT_LE(s.busy_ns, s.end - s.begin);
      }
      EXPECT_EQ(events, lane.events) << lane.name;
    }
    EXPECT_LE(slices, options.limit);
    return views;
  }
  std::string name(const LaneSlice& s) const {
    return s.row ? std::string(trace.name(*s.row)) : "";
  }
  const LaneSlice* find(const LaneViews& views, const std::string& wanted) const {
    for (const auto& lane : views.lanes) {
      for (const auto& s : lane.slices) {
        if (name(s) == wanted) return &s;
      }
    }
    return nullptr;
  }

  trace::Trace trace;
  Report report;
};

TEST(LaneView, ShowsEachEventWhereThereIsRoom) {
  TraceText text;
  text.op("aten::linear", 0, 100).op("aten::mm", 10, 50);
  text.call("cudaLaunchKernel", 20, 10, 1);
  text.kernel(40, 20, 1, "first").kernel(50, 20, 2, "late").kernel(60, 5, 3, "third");
  const Drawn drawn(text);
  const auto views = drawn(100);
  EXPECT_EQ(views.cell_ns, 0);
  ASSERT_EQ(views.lanes.size(), 2u);
  EXPECT_EQ(views.lanes[0].name, "thread 1");
  EXPECT_EQ(views.lanes[0].busy_ns, 100'000);
  const auto& host = views.lanes[0].slices;
  ASSERT_EQ(host.size(), 3u);
  EXPECT_EQ(drawn.name(host[2]), "cudaLaunchKernel");
  EXPECT_EQ(host[2].depth, 2u);
  EXPECT_EQ(host[2].begin, 20'000);
  EXPECT_EQ(host[2].end, 30'000);
  EXPECT_EQ(host[2].category, trace::Category::kCudaRuntime);
  const auto& stream = views.lanes[1];
  EXPECT_EQ(stream.name, "stream 7");
  EXPECT_EQ(stream.busy_ns, 30'000);
  ASSERT_EQ(stream.slices.size(), 3u);  // the one that overlaps is below
  EXPECT_EQ(drawn.name(stream.slices[1]), "third");
  EXPECT_EQ(drawn.name(stream.slices[2]), "late");
  EXPECT_EQ(stream.slices[2].depth, 1u);
}

TEST(LaneView, MergesADenseBlockAndKeepsALongKernelInIt) {
  TraceText text;
  // 1 us of work every 4 us, and one of 2 ms in the midst of it.
  for (int i = 0; i < 20'000; ++i) {
    const double at = 4.0 * i + (i >= 10'000 ? 2'000 : 0);
    text.kernel(at, 1, i + 1, "tiny");
  }
  text.kernel(40'000, 2'000, 30'000, "long");
  const Drawn drawn(text);
  const auto views = drawn(300);
  ASSERT_EQ(views.lanes.size(), 1u);
  ASSERT_NE(drawn.find(views, "long"), nullptr);
  EXPECT_EQ(drawn.find(views, "long")->begin, 40'000'000);
  std::int64_t busy = 0;
  for (const auto& s : views.lanes[0].slices) {
    busy += s.busy_ns;
    EXPECT_LT(s.end - s.begin, 2 * views.cell_ns + 2'000'000);
    if (s.count < 8) continue;
    const auto share =
        static_cast<double>(s.busy_ns) / static_cast<double>(s.end - s.begin);
    EXPECT_NEAR(share, 0.25, 0.03);
  }
  EXPECT_EQ(busy, 22'000'000);
  EXPECT_GT(views.lanes[0].slices.size(), 100u);  // the room is made use of
}

TEST(LaneView, ShowsEvidenceWithItsSurroundings) {
  TraceText text;
  int id = 0;
  double at = 0;
  const auto run = [&](int calls) {
    for (int i = 0; i < calls; ++i, at += 20) text.launched(at, at + 6, 10, ++id);
  };
  run(3000);
  // The device runs dry, as the host waits for it and then does nothing for 3 ms.
  text.op("aten::item", at, 3'050).call("cudaStreamSynchronize", at + 5, 45, 100'000);
  at += 3'100;
  run(3000);
  const Drawn drawn(text);
  ASSERT_FALSE(drawn.report.findings.empty());
  const auto views = drawn(600);
  EXPECT_GT(views.cell_ns, 0);
  const auto events = drawn.report.findings[0].events;
  std::uint64_t around = 0;
  std::vector<char> shown(drawn.trace.columns.size());
  for (const auto& lane : views.lanes) {
    for (const auto& s : lane.slices) {
      if (!s.row) continue;
      shown[*s.row] = 1;
      around += s.begin > 59'900'000 && s.begin < 63'200'000;
    }
  }
  for (const auto row : events) EXPECT_TRUE(shown[row]) << drawn.trace.name(row);
  EXPECT_GE(around, 10u);
}

TEST(LaneView, LeavesOutWhatLibrariesCallInside) {
  TraceText text;
  text.python("threading.py(900): _bootstrap", 0, 1000);
  text.python("threading.py(950): run", 1, 990);
  text.python("train.py(10): step", 10, 900);
  text.python("torch/nn/modules/module.py(1): _wrapped_call_impl", 20, 800);
  text.python("nn.Module: Linear_0", 21, 780);
  text.python("torch/nn/modules/linear.py(1): forward", 22, 770);
  text.python("<built-in function linear>", 23, 760);
  text.op("aten::linear", 30, 700);
  text.python("<built-in function sleep>", 850, 20);
  text.kernel(0, 1000, 1);  // keeps the device busy: nothing is wrong, no evidence
  const Drawn drawn(text);
  ASSERT_TRUE(drawn.report.findings.empty());
  const auto views = drawn(100);
  ASSERT_EQ(views.lanes.size(), 2u);
  std::vector<std::string> names;
  for (const auto& s : views.lanes[0].slices) names.push_back(drawn.name(s));
  EXPECT_EQ(names,
            (std::vector<std::string>{
                "threading.py(900): _bootstrap", "train.py(10): step",
                "torch/nn/modules/module.py(1): _wrapped_call_impl",
                "<built-in function sleep>", "nn.Module: Linear_0", "aten::linear"}));
  EXPECT_EQ(views.lanes[0].hidden, 3u);
  EXPECT_EQ(views.lanes[0].slices.back().depth, 4u);
}

TEST(LaneView, TakesWhatMeetsAStretchOfTime) {
  TraceText text;
  text.op("before", 0, 10).op("outer", 20, 100).op("inner", 50, 10);
  text.op("after", 130, 10);
  const Drawn drawn(text);
  LaneOptions options;
  options.time = timeline::Interval{40'000, 130'000};
  const auto views = drawn.checked(options);
  ASSERT_EQ(views.lanes.size(), 1u);
  ASSERT_EQ(views.lanes[0].slices.size(), 2u);
  EXPECT_EQ(views.lanes[0].slices[0].begin, 20'000);  // whole
  options.time = timeline::Interval{200'000, 300'000};
  EXPECT_TRUE(drawn.checked(options).lanes.empty());
  options.time = timeline::Interval{5, 5};
  EXPECT_THROW(view_lanes(drawn.report, options), std::invalid_argument);
  EXPECT_THROW(view_lanes(drawn.report, {0, {}}), std::invalid_argument);
}

TEST(LaneView, KeepsToTheLimitWhateverItIsGiven) {
  TraceText same, nested, threads;
  for (int i = 0; i < 3'000; ++i) {
    same.kernel(5, 7, i + 1).op("a", 5, 7).op("b", 5, 0);
    nested.op("deep", i, 9'000 - 2 * i).python("own.py(1): f", i + 0.5, 9'000 - 2 * i);
    threads.op("op", i % 50, 3, "", i + 1);
  }
  threads.kernel(0, 1, 1);
  for (const auto* text : {&same, &nested, &threads}) {
    const Drawn drawn(*text);
    for (const std::uint64_t limit : {1, 2, 3, 4, 7, 8, 9, 50, 400, 2'000, 20'000}) {
      const auto views = drawn(limit);
      EXPECT_GE(views.lanes.size(), 1u);
      EXPECT_LE(views.lanes.size(), 128u);
      if (text == &threads) {
        EXPECT_EQ(views.lanes.size() + views.left_out, 3'001u);
        EXPECT_EQ(views.lanes.back().name, "stream 7");
      }
    }
  }
}

TEST(LaneView, NeverExceedsTheLimitOnRandomTraces) {
  std::mt19937 random(7);
  const auto below = [&](int n) { return static_cast<int>(random() % n); };
  for (int round = 0; round < 40; ++round) {
    TraceText text;
    const int events = 50 + below(3'000), span = 10 << below(14);
    for (int i = 0; i < events; ++i) {
      const double at = below(span) + below(1'000) / 1000.0;
      const double length = below(4) == 0 ? 0 : below(1 << below(12)) / 8.0;
      switch (below(4)) {
        case 0:
          text.kernel(at, length, i + 1, "k", below(3), below(2));
          break;
        case 1:
          text.python("f.py(1): g" + std::to_string(below(5)), at, length, below(3));
          break;
        default:
          text.op("aten::x", at, length, "", below(3));
      }
    }
    const Drawn drawn(text);
    for (int i = 0; i < 6; ++i) drawn(1 + below(2 * events));
  }
}

}  // namespace
}  // namespace tta::pipeline

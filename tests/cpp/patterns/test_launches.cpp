// SPDX-License-Identifier: BSD-3-Clause
// Rules of launches that come too late: launch_bound and missed_cuda_graph, on
// hand-worked traces.
#include "patterns/found.h"

namespace tta::patterns {
namespace {

// n operators of 50 us, each with one kernel of 5 us.
TraceText eager(int n, double period, double kernel = 5) {
  TraceText text;
  for (int i = 0; i < n; ++i) {
    const double at = i * period;
    text.op("aten::add", at, period * 0.8).launched(at + 10, at + 20, kernel, i + 1);
  }
  return text;
}

// All launched early, 3 us between kernels.
TraceText full_queue() {
  TraceText text;
  for (int i = 0; i < 100; ++i) text.launched(i * 6, 1000 + i * 50, 47, i + 1);
  return text.op("busy", 0, 990);
}

// 700 us of operators on CPU tensors before each launch.
TraceText cpu_work(const char* range) {
  TraceText text;
  for (int i = 0; i < 20; ++i) {
    const double at = i * 800;
    if (*range != 0) text.op(range, at, 799);
    for (int k = 0; k < 35; ++k) text.op("aten::cos", at + k * 20, 15);
    text.op("aten::add", at + 710, 40).launched(at + 720, at + 730, 60, i + 1);
  }
  return text;
}

// Gaps of 95 us, of which 60 are in cudaMalloc.
TraceText with_allocations() {
  auto text = eager(20, 100);
  for (int i = 0; i < 20; ++i) text.call("cudaMalloc", i * 100 + 30, 60, 1000 + i);
  return text;
}

// Graphs of 500 us, each launched by a call of `launch` us with Python of 598 us
// before.
TraceText graphs(double launch) {
  TraceText text;
  for (int i = 0; i < 20; ++i) {
    const double at = i * (launch + 600);
    text.call("cudaGraphLaunch", at, launch, i + 1).kernel(at + launch + 2, 500, i + 1);
  }
  return text;
}

// A kernel, and a graph of `n` of them whose launch takes 900 us, all of it idle.
TraceText one_graph(int n) {
  TraceText text;
  text.launched(0, 10, 90, 1).call("cudaGraphLaunch", 110, 900, 2);
  for (int i = 0; i < n; ++i) text.kernel(1'012 + i * 100, 99, 2);
  return text;
}

// Between two operators that launch, 335 us of others of 80 us with a step each.
TraceText with_others(const char* around, const char* op, const char* inner) {
  TraceText text;
  for (int i = 0; i < 20; ++i) {
    const double at = i * 400;
    text.op("aten::add", at, 40).launched(at + 10, at + 20, 5, i + 1);
    if (*around != 0) text.op(around, at + 45, 350);
    for (int k = 0; k < 4; ++k) {
      text.op(op, at + 50 + k * 85, 80).op(inner, at + 60 + k * 85, 60);
    }
  }
  return text;
}

TraceText with_view(double view) {
  TraceText text;
  for (int i = 0; i < 20; ++i) {
    const double at = i * 300;
    text.op("aten::add", at, 40).launched(at + 10, at + 20, 5, i + 1);
    text.op("aten::empty", at + 60, view);
  }
  return text;
}

TEST(LaunchBound, Costs) {
  const Cost cases[] = {
      {"the queue is full", full_queue(), 0},
      {"5 ms of Python between two operators are a pause",
       eager(20, 5000).python("train.py(1): slow", 0, 100'000), 0},
      {"a few late launches are incidents", eager(9, 50), 0},
      {"and more are not", eager(10, 50), kSome},
      {"operators that launch nothing", cpu_work(""), 0},
      {"in a range", cpu_work("DistributedDataParallel.forward"), 0},
      {"a slow runtime call is left out", with_allocations(), 19 * 35'000 + 20'000},
      // The first begins with the span. The 98 us of Python before each stay out.
      {"a graph counts as all of its work", one_graph(12), 902'000},
      {"a small one is an incident", one_graph(9), 0},
      {"the inside of a long launch is no pause", graphs(900), 19 * 902'000},
      {"of a longer one", graphs(1999), 19 * 2'001'000},
      {"of a graph's however long", graphs(2500), 19 * 2'502'000},
      {"views are dispatch", with_others("", "aten::t", "aten::transpose"),
       19 * 395'000 + 20'000},
      {"in backward, too", with_others("TBackward", "aten::t", "aten::transpose"),
       19 * 395'000 + 20'000},
      {"a view", with_view(200), 19 * 295'000 + 20'000},
      // From the operator's end no mark until the next one: 260 us.
      {"a view that takes long is something else", with_view(201),
       19 * 35'000 + 20'000},
      {"under five percent", eager(100, 200, 196), 0},
      {"five percent", eager(100, 200, 180), kSome},
  };
  expect_costs(kLaunchBound, cases);
  // 99 gaps of 45 us and the first of 20 us; the one at the end has no launch.
  EXPECT_EQ(all_in(eager(100, 50)), "launch_bound.kernels x100: 4475 us, 4475 idle");
  EXPECT_EQ(all_in(graphs(900)), "launch_bound.graphs x19: 17138 us, 17138 idle");
  // Views as steps of an operator that computes on the host are its computing.
  const auto computing =
      wasted(with_others("", "aten::cos", "aten::sin"), kLaunchBound);
  EXPECT_LT(computing, 20 * 100'000);
  EXPECT_EQ(wasted(with_others("aten::stack", "aten::unsqueeze", "aten::as_strided"),
                   kLaunchBound),
            computing);
}

TEST(LaunchBound, NamesThePhaseAndAdvisesThoseWhoUseGraphsAlready) {
  const auto f = [](const TraceText& text) { return find_in(text).findings.at(0); };
  EXPECT_EQ(
      f(eager(100, 50).step(1, -1, 6000).note("## forward ##", 0, 5000)).operator_name,
      "## forward ##");
  EXPECT_TRUE(says(f(graphs(900)).message, "took 900 µs for 1 kernel or copy"));
  EXPECT_TRUE(says(f(graphs(900)).advice, "first launch uploads"));
  EXPECT_FALSE(says(f(eager(100, 50)).advice, "that are left"));
}

// 100 late launches, and before them a graph of `kernels` kernels.
TraceText with_a_graph(int kernels) {
  auto text = eager(100, 50).call("cudaGraphLaunch", -1'000, 5, 999);
  for (int i = 0; i < kernels; ++i) text.kernel(-990 + i * 4, 4, 999);
  return text;
}

TEST(LaunchBound, WhoUsesGraphsLaunchesHalfOfTheWorkByThem) {
  EXPECT_FALSE(says(first(with_a_graph(99), kLaunchBound).advice, "that are left"));
  EXPECT_TRUE(says(first(with_a_graph(100), kLaunchBound).advice, "that are left"));
}

// Rounds of 40 late launches, the first for an embedding and the last for `choice`.
TraceText rounds(int n, const char* choice, const char* cache = "aten::cat") {
  TraceText text;
  for (int i = 0; i < 40 * n; ++i) {
    const auto* name = i % 40 == 0    ? "aten::embedding"
                       : i % 40 == 39 ? choice
                       : i % 4 == 0   ? cache
                                      : "aten::mm";
    text.op(name, i * 50, 40).launched(i * 50 + 10, i * 50 + 20, 5, i + 1);
  }
  return text;
}

TEST(LaunchBound, AdvisesAStaticCacheToWhoGeneratesText) {
  const auto advises = [](const TraceText& text) {
    return says(first(text, kLaunchBound).advice, "static cache");
  };
  EXPECT_TRUE(advises(rounds(3, "aten::argmax")));
  EXPECT_TRUE(advises(rounds(3, "aten::multinomial", "aten::index_copy_")));
  EXPECT_FALSE(advises(rounds(2, "aten::argmax")));
  EXPECT_FALSE(advises(rounds(3, "aten::nll_loss")));
  EXPECT_FALSE(advises(rounds(3, "aten::argmax", "aten::add")));
  EXPECT_FALSE(
      advises(rounds(3, "aten::argmax")
                  .op("autograd::engine::evaluate_function: MmBackward0", 6'000, 50)));
}

// Steps of `kernels` operators, 50 us each with a kernel of 5 us, of the grids that
// `grids` gives for each step; '?' writes no grid, 'x' (2, 4, 1) and 'y' (4, 2, 1).
TraceText steps(const std::string& grids, int kernels = 20) {
  TraceText text;
  int id = 0;
  for (int s = 0; s < static_cast<int>(grids.size()); ++s) {
    const double begin = s * kernels * 50;
    text.step(s, begin, kernels * 50);
    const char c = grids[static_cast<std::size_t>(s)];
    const std::string grid = c == 'x'   ? "2, 4, 1"
                             : c == 'y' ? "4, 2, 1"
                                        : std::string(1, c) + ", 1, 1";
    for (int k = 0; k < kernels; ++k) {
      const double at = begin + k * 50;
      text.op("aten::add", at, 40).call("cudaLaunchKernel", at + 10, 5, ++id);
      text.device_work(
          "kernel", "add", at + 20, 5, id,
          c == '?' ? "" : ", \"grid\": [" + grid + "], \"block\": [128, 1, 1]", 7, 0);
    }
  }
  return text;
}

// A call of 3 us in each of three steps, `from` us after its begin.
TraceText with_call(const char* name, double from, int steps_with = 3) {
  auto text = steps("888");
  for (int s = 0; s < steps_with; ++s) text.call(name, s * 1000 + from, 3, 900 + s);
  return text;
}

// The copy is busy time, and the call that ends before the operator goes on.
TraceText with_reads() {
  auto text = with_call("cudaMemcpyAsync", 445);
  for (int s = 0; s < 3; ++s) {
    text.copy("Memcpy DtoH (Device -> Pinned)", s * 1000 + 446, 1, 900 + s, 4);
  }
  return text;
}

TraceText with_two_waits() {
  auto text = with_call("cudaStreamSynchronize", 445);
  for (int s = 0; s < 3; ++s) {
    text.call("cudaStreamSynchronize", s * 1000 + 745, 3, 950 + s);
  }
  return text;
}

constexpr std::int64_t kAll = 59 * 45'000 + 20'000;
// A call after the ninth of 20 kernels: nine are too few, eleven are not. In the gap
// before their first launch, the part after the call counts: 448 to 470 us.
constexpr std::int64_t kEleven = 3 * (22'000 + 10 * 45'000);

TEST(MissedCudaGraph, Costs) {
  const Cost cases[] = {
      {"two equal steps may be chance", steps("889"), 0},
      {"unknown grids are not equal", steps("???"), 0},
      {"grids of one size are not equal for that", steps("xxy"), 0},
      {"these are", steps("xxx"), kSome},
      {"a wait ends a capture", with_call("cudaStreamSynchronize", 445), kEleven},
      {"so does an allocation", with_call("cudaMalloc", 445), kEleven},
      {"AMD's, too", with_call("hipMalloc", 445), kEleven},
      {"a read ends it", with_reads(), kEleven},
      {"what a capture survives", with_call("cudaEventRecord", 445), kAll},
      {"a read every few kernels", with_two_waits(), 0},
      {"a stretch cut in one step", with_call("cudaStreamSynchronize", 445, 1), 0},
      {"another kernel in one step",
       steps("888")
           .call("cudaLaunchKernel", 2'041, 2, 999)
           .kernel(2'044, 1, 999, "other"),
       0},
      {"one graph of a kernel is no use of graphs",
       steps("888").call("cudaGraphLaunch", 3'010, 5, 999).kernel(3'020, 5, 999),
       kSome},
      {"the device is busy", steps("888").launched(-100, -90, 3'080, 999, 8, "long"),
       0},
      {"few kernels", steps("888", 9), 0},
      {"enough", steps("888", 10), kSome},
      // The late launches wait 2.72 ms; a long kernel makes that a smaller share.
      {"five percent", steps("888").launched(3'000, 3'005, 45'000, 999, 7, "long"),
       kSome},
      {"less", steps("888").launched(3'000, 3'005, 60'000, 999, 7, "long"), 0},
  };
  expect_costs(kMissedCudaGraph, cases);
  EXPECT_GT(wasted(with_call("cudaMalloc", 445), kLaunchBound), 0);
}

TEST(MissedCudaGraph, SharesTheLateLaunchesWithLaunchBound) {
  EXPECT_EQ(all_in(steps("888")), "missed_cuda_graph x60: 2675 us, 2675 idle");
  EXPECT_EQ(all_in(steps("889")), "launch_bound.kernels x60: 2675 us, 2675 idle");
  // The gap before a step's first launch is that launch's.
  EXPECT_EQ(all_in(steps("98887")),
            "missed_cuda_graph x60: 2700 us, 2700 idle\n"
            "launch_bound.kernels x40: 1775 us, 1775 idle");
}

}  // namespace
}  // namespace tta::patterns

// SPDX-License-Identifier: BSD-3-Clause
// Rules of collectives that run alone or hold the backward pass, on hand-worked traces.
#include <vector>

#include "patterns/found.h"

namespace tta::patterns {
namespace {

constexpr auto kReduceKernel = "ncclDevKernel_AllReduce_Sum_f32_RING_LL";

// `compute` us of it, and a collective on a separate stream.
TraceText reduction(double compute, double begin, double length) {
  return TraceText()
      .launched(0, 0, compute, 1)
      .launched(6, begin, length, 2, 8, kReduceKernel);
}

// 10 ms of computation, and a collective that starts in it and ends `alone` after it.
TraceText part_hidden(double hidden, double alone) {
  return reduction(10'000, 10'000 - hidden, hidden + alone);
}

// An all_reduce over gloo as torch 2.13 records it: asked for at `at`, under way on the
// backend's thread for the next 900 us.
TraceText gloo(TraceText text, double at) {
  return text.op("c10d::allreduce_", at, 50)
      .host("user_annotation", "gloo:all_reduce", at + 50, 900, "", 9);
}
constexpr auto kWait = "<built-in method wait of pybind11_builtins.record>";
constexpr auto kBackward =
    "<built-in method run_backward of torch._C._EngineBase object>";

TEST(CommExposed, Costs) {
  const auto step = TraceText().python("train.py(7): step", 0, 2000);
  const auto python = [&](const char* name, double ts, double dur) {
    return TraceText(step).python(name, ts, dur);
  };
  const Cost cases[] = {
      {"the time collectives run alone", reduction(500, 20, 980), 500'000},
      {"all of it hidden", reduction(1000, 20, 980), 0},
      // Of 10,530 us 5.03 %, of 10,520 us 4.94 %; 90 % of the communication is hidden.
      {"five percent counts however much is hidden", part_hidden(5000, 530), 530'000},
      {"less does not", part_hidden(5000, 520), 0},
      {"unless less than 70 % is hidden", part_hidden(690, 310), 310'000},
      {"more is", part_hidden(710, 290), 0},
      {"the overlap of under 100 us says nothing", reduction(2000, 2000, 99), 0},
      {"more does", reduction(2000, 2000, 101), 101'000},
      {"on the host, what is computed beside hides it",
       gloo(step, 0).op("aten::mm", 50, 1900).python(kWait, 1955, 40), 0},
      {"a wait for something else: over at 960 us, only 10 us of the wait are its",
       gloo(step, 10).op("aten::mm", 0, 10).python(kWait, 950, 1050), 0},
      {"Python at work meanwhile does not wait for it",
       gloo(python("train.py(9): log", 60, 900), 0), 0},
      {"backward waits for the last buckets",
       gloo(python(kBackward, 0, 1500), 500)
           .op("autograd::engine::evaluate_function: AddmmBackward0", 0, 700),
       750'000},
      {"of NCCL's operators, which only launch, nothing is known without kernels",
       TraceText().op("c10d::allreduce_", 0, 900).op("aten::add", 1500, 1000), 0},
  };
  expect_costs(kCommExposed, cases);
}

TEST(CommExposed, OnTheHostASynchronousCallWaitsForIt) {
  TraceText text;
  text.python("train.py(7): step", 0, 2000).op("aten::mm", 0, 1000);
  text.python("torch/distributed/distributed_c10d.py(3155): all_reduce", 1000, 1000);
  text = gloo(text, 1010).python(kWait, 1070, 920);
  // All of the call's own wait; the asking began before the collective was under way.
  EXPECT_EQ(all_in(text), "comm_exposed x1: 920 us, 0 idle, train.py:7");
  EXPECT_EQ(first(text, kCommExposed).operator_name, "c10d::allreduce_");
}

TEST(CommExposed, OnTheHostWithoutFramesItIsTimeWithoutOperators) {
  const auto text = TraceText().op("aten::mm", 0, 1000).op("aten::add", 1500, 1000);
  const auto f = first(gloo(text, 1000), kCommExposed);  // under way from 1050 to 1950
  EXPECT_EQ(f.wasted_ns, 450'000);
  EXPECT_EQ(f.operator_name, "c10d::allreduce_");
}

// One collective of 10 ms alone after 10 ms of computation.
Finding lone(const std::string& args, const std::string& name = kReduceKernel) {
  return first(TraceText()
                   .launched(0, 0, 10'000, 1)
                   .call("cudaLaunchKernel", 6, 5, 2)
                   .device_work("kernel", name, 10'000, 10'000, 2, args, 8, 0),
               kCommExposed);
}

std::string message(const std::string& name, int elements) {
  return ", \"Collective name\": \"" + name +
         "\", \"dtype\": \"Float\", \"Group size\": 8, \"In msg nelems\": " +
         std::to_string(elements) + ", \"Out msg nelems\": " + std::to_string(elements);
}

TEST(CommExposed, ItsRateTellsWhetherItWaited) {
  // Of n floats each rank sends 2 * 7/8 * 4 n bytes: 7 n in 10,000 us.
  const auto slow = lone(message("allreduce", 1'428'000));
  EXPECT_TRUE(says(slow.message, "at 1.0 GB/s: most of it is likely waiting"));
  EXPECT_TRUE(says(slow.advice, "First find out which rank is late"));
  const auto fast = lone(message("allreduce", 1'429'000));
  EXPECT_TRUE(says(fast.message, "at 1.0 GB/s (waiting for the slowest"));
  EXPECT_FALSE(says(fast.advice, "First find out"));
  // Half of it by a gather; nothing is reported below 1 MiB, or for unknown sizes.
  EXPECT_TRUE(says(lone(message("_allgather_base", 8'000'000)).message, "2.8 GB/s"));
  EXPECT_TRUE(says(lone(message("allreduce", 262'144)).message, "GB/s"));
  EXPECT_FALSE(says(lone(message("allreduce", 262'143)).message, "GB/s"));
  EXPECT_FALSE(says(lone("").message, "GB/s"));
}

// All-reduces of 4 MB by 8 ranks, each after 1 ms of computation, of such lengths.
TraceText of_lengths(const std::vector<double>& lengths) {
  TraceText text;
  double at = 0;
  int id = 0;
  for (const auto length : lengths) {
    id += 2;
    text.launched(at, at + 10, 1'000, id - 1);
    text.call("cudaLaunchKernel", at + 20, 5, id)
        .device_work("kernel", kReduceKernel, at + 1'010, length, id,
                     message("allreduce", 1'000'000), 8, 0);
    at += 1'010 + length;
  }
  return text;
}

TEST(CommExposed, AConstantLowRateIsThePathsNotALateRanks) {
  // 7 MB in 3.5 ms is 2 GB/s.
  const auto slow = first(of_lengths({3'500, 3'450, 3'600, 3'500}), kCommExposed);
  EXPECT_TRUE(says(slow.message, "at 2.0 GB/s, all large ones about alike"));
  EXPECT_TRUE(says(slow.advice, "NCCL_DEBUG=INFO"));
  EXPECT_FALSE(says(slow.message, "late rank"));
  // Even below the rate from which waiting is suspected.
  const auto slower = first(of_lengths({9'000, 9'100, 9'050}), kCommExposed);
  EXPECT_TRUE(says(slower.advice, "NCCL_DEBUG=INFO"));
  for (const auto& other : {of_lengths({3'500, 3'500}),                // too few
                            of_lengths({3'500, 8'000, 5'000, 2'500}),  // they wait
                            of_lengths({700, 710, 705, 700})}) {       // 10 GB/s
    EXPECT_FALSE(says(first(other, kCommExposed).advice, "NCCL_DEBUG"));
  }
}

TEST(CommExposed, ExpertsTokensGoToAllAndBack) {
  const auto found =
      first(TraceText()
                .launched(0, 0, 100, 1)
                .launched(6, 100, 900, 2, 8, "void deep_ep::internode::dispatch<8>()"),
            kCommExposed);
  EXPECT_TRUE(says(found.advice, "exchange one half"));
}

// Steps of 1 ms of computation and then collectives of such lengths, in order.
TraceText reductions(const std::vector<std::vector<double>>& steps,
                     const std::string& args = "") {
  TraceText text;
  double at = 0;
  int id = 0;
  for (int i = 0; i < static_cast<int>(steps.size()); ++i) {
    double length = 1'000;
    for (const auto ns : steps[i]) length += ns;
    text.step(i, at, length).launched(at, at + 10, 990, ++id);
    double begin = at + 1'000;
    for (const auto ns : steps[i]) {
      ++id;
      text.call("cudaLaunchKernel", at + 20 + 2 * id, 1, id)
          .device_work("kernel", kReduceKernel, begin, ns, id, args, 8, 0);
      begin += ns;
    }
    at += length;
  }
  return text;
}

TEST(CommExposed, LikeCollectivesTellWhoWaited) {
  const auto waits = [](const TraceText& text) {
    const auto f = first(text, kCommExposed);
    return says(f.message, "likely waiting") &&
           says(f.advice, "First find out which rank");
  };
  // The second of each step is larger; in one step the first came early.
  EXPECT_TRUE(waits(reductions({{100, 200}, {100, 200}, {2'000, 200}})));
  EXPECT_FALSE(waits(reductions({{100, 900}, {100, 900}, {100, 900}})));
  EXPECT_FALSE(waits(reductions({{100, 200}, {1'000, 200}})));  // of two, no one knows
  const auto known = message("allreduce", 1'000);
  EXPECT_TRUE(waits(reductions({{100, 900, 100}, {900}}, known)));  // one size
  EXPECT_TRUE(
      says(first(reductions({{100, 900, 100}, {900}}, known), kCommExposed).message,
           "like ones as little as 100 µs"));
}

TEST(CommExposed, AdviceGoesByTheCollective) {
  EXPECT_TRUE(says(lone("").advice, "bucket_cap_mb"));  // by the kernel's name
  EXPECT_TRUE(says(lone(message("_reduce_scatter_base", 9)).advice, "bucket_cap_mb"));
  EXPECT_TRUE(says(lone(message("_allgather_base", 9)).advice, "prefetch"));
  const auto exchange = lone(message("all_to_allv", 9), "ncclDevKernel_SendRecv");
  EXPECT_TRUE(says(exchange.advice, "next batch"));
  EXPECT_FALSE(says(exchange.advice, "bucket"));
  EXPECT_FALSE(says(lone("", "ncclDevKernel_SendRecv").advice, "bucket"));
}

const std::string kNode = "autograd::engine::evaluate_function: ";
const std::string kAccumulate = "torch::autograd::AccumulateGrad";

struct Held {
  std::string hook = kAccumulate;
  int stream = 8;           // of the collective; the backward pass runs on 7
  bool waits = true;        // a wait for an event between the two launches
  double next_launch = 60;  // when the backward pass's next kernel is launched
  double next_start = 602;  // when it runs
  double next_length = 1000;
};

// A backward kernel, a reduction under way from 100 to 600 us, the next kernel.
TraceText held(const Held& c) {
  TraceText text;
  text.op(kNode + "AddmmBackward0", 0, 20)
      .launched(5, 10, 90, 1)
      .op(kNode + c.hook, 25, 30)
      .launched(30, 100, 500, 2, c.stream, kReduceKernel);
  if (c.waits) text.call("cudaStreamWaitEvent", 40, 2, 0);
  return text.op(kNode + "MulBackward0", c.next_launch - 2, 20)
      .launched(c.next_launch, c.next_start, c.next_length, 3);
}

TEST(CommStreamSerialised, Costs) {
  const Cost cases[] = {
      {"backward held back by a gradient's reduction", held({}), 500'000},
      {"one stream for both", held({.stream = 7, .waits = false}), 500'000},
      {"from when the next was ready: launched at 300", held({.next_launch = 295}),
       300'000},
      {"the host was late", held({.next_launch = 595}), 0},
      {"no more than there was to do", held({.next_length = 200}), 200'000},
      {"others may be needed at once", held({.hook = "SyncBatchNormBackward"}), 0},
      {"so may copies", held({.hook = "torch::autograd::CopyBackwards"}), 0},
      {"other streams, no event between", held({.waits = false}), 0},
      {"ran beside the collective", held({.next_start = 110}), 0},
      {"50 us after it", held({.next_start = 650}), kSome},
      {"waited for something else", held({.next_start = 651}), 0},
  };
  expect_costs(kCommStreamSerialised, cases);
}

TEST(CommStreamSerialised, YieldsTheRestToExposedCommunication) {
  const auto found =
      find_in(TraceText()
                  .op(kNode + kAccumulate, 0, 50)
                  .launched(10, 100, 500, 1, 7, "ncclDevKernel_AllReduce")
                  .op(kNode + "MulBackward0", 290, 20)
                  .launched(295, 600, 1000, 2));
  EXPECT_EQ(wasted(found, kCommStreamSerialised), 300'000);
  EXPECT_EQ(wasted(found, kCommExposed), 200'000);
}

}  // namespace
}  // namespace tta::patterns

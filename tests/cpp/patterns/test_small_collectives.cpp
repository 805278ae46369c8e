// SPDX-License-Identifier: BSD-3-Clause
// Many small collectives, and data parallelism by threads, on hand-worked traces.
#include "patterns/communication.h"
#include "patterns/found.h"

namespace tta::patterns {
namespace {

constexpr auto kRing = "ncclKernel_AllReduce_RING_LL_Sum_float";

std::string message(int elements, const char* name = "allreduce") {
  return std::string(", \"Collective name\": \"") + name +
         "\", \"dtype\": \"Float\", \"Process Group Name\": \"0\", "
         "\"In msg nelems\": " +
         std::to_string(elements) + ", \"Out msg nelems\": " + std::to_string(elements);
}

// The saving on the device; the host's has its own test.
std::int64_t latency(const Findings& found) {
  std::int64_t sum = 0;
  for (const auto& f : found.findings) {
    if (f.pattern == kSmallCollectives && f.subtype == 0) sum += f.wasted_ns;
  }
  return sum;
}
std::int64_t latency(const TraceText& text) { return latency(find_in(text)); }

// n all-reduces of 40 us each, launched and run 50 us apart; `between` kernels are
// launched, and run on another stream later, between two of them.
TraceText loop(int n, const std::string& args, int between = 0, double dur = 40) {
  TraceText text;
  for (int i = 0; i < n; ++i) {
    const double at = i * 50;
    text.call("cudaLaunchKernel", at, 2, i + 1);
    text.device_work("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", at + 5, dur,
                     i + 1, args, 8, 0);
    for (int k = 0; k < between; ++k) {
      text.call("cudaLaunchKernel", at + 4 + k, 0.5, 1000 + i * 10 + k);
      text.kernel(at + 46 + k, 0.5, 1000 + i * 10 + k);
    }
  }
  return text;
}

// The loop and a larger one after it.
TraceText with_large(double length, int elements) {
  return loop(10, message(5000))
      .call("cudaLaunchKernel", 600, 2, 99)
      .device_work("kernel", "ncclDevKernel_AllReduce", 610, length, 99,
                   message(elements), 8, 0);
}

// Collectives of the given lengths, each launched as the one before ends.
TraceText lengths(const std::vector<double>& us, const std::string& args) {
  TraceText text;
  double at = 0;
  int id = 0;
  for (const double dur : us) {
    ++id;
    text.call("cudaLaunchKernel", at, 2, id)
        .device_work("kernel", kRing, at + 5, dur, id, args, 8, 0);
    at += dur + 10;
  }
  return text;
}

TEST(SmallCollectives, AllButOneLessTheTimeTheirBytesTake) {
  // 5000 floats are 20,000 bytes: 4 us at 5 GB/s. Nine times 40 - 4 us.
  const auto found = find_in(loop(10, message(5000)));
  EXPECT_EQ(latency(found), 9 * 36'000);
  // What is left is communication all the same.
  EXPECT_EQ(wasted(found, kCommExposed), 9 * 4'000 + 40'000);
}

TEST(SmallCollectives, OfRocmTheOperatorKnowsTheSize) {
  TraceText text;
  for (int i = 0; i < 10; ++i) {
    text.op("record_param_comms", i * 50 - 1, 5, message(5000).substr(2));
    text.call("hipLaunchKernel", i * 50, 2, i + 1);
    text.kernel(i * 50 + 5, 40, i + 1, "ncclDevKernel_Generic", 8);
  }
  EXPECT_EQ(latency(text), 9 * 36'000);
}

TEST(SmallCollectives, OneMebibyteIsNotSmall) {
  // Below it, at 40 us each, the bytes' own time (210 us) is more than there is.
  EXPECT_EQ(latency(loop(10, message(262'143))), 0);
  Settings faster;
  faster.set("small_collectives", "bytes_per_us", 1e6);
  EXPECT_GT(latency(find_in(loop(10, message(262'143)), faster)), 0);
  EXPECT_EQ(latency(find_in(loop(10, message(262'144)), faster)), 0);
}

TEST(SmallCollectives, OfUnknownSizeShortOnesInALongRunAreSmall) {
  const auto cost = [](int n, double dur, const std::string& args = "") {
    return latency(loop(n, args, 0, dur));
  };
  EXPECT_EQ(cost(10, 40), 9 * 40'000);
  EXPECT_EQ(cost(9, 40), 0);
  EXPECT_EQ(cost(10, 49.9), 9 * 49'900);
  EXPECT_EQ(cost(10, 50), 0);
  // A kind without sizes, as torch before 2.3 has it, counts the same.
  EXPECT_EQ(cost(10, 40, ", \"Collective name\": \"allreduce\""), 9 * 40'000);
  EXPECT_EQ(cost(10, 40, ", \"Collective name\": \"send\""), 0);
}

TEST(SmallCollectives, OfUnknownSizeEachSavesTheShortestAtMost) {
  // 11 of 20 to 40 us, and a large one among them.
  const auto found =
      find_in(lengths({40, 40, 40, 40, 40, 90, 40, 20, 40, 40, 40, 40}, ""));
  EXPECT_EQ(latency(found), 10 * 20'000);
  EXPECT_TRUE(says(first(found, kSmallCollectives).message, "unknown size"));
}

TEST(SmallCollectives, KindsAreReadFromAnyName) {
  using enum CollectiveKind;
  EXPECT_EQ(kind_named("ncclDevKernel_AllReduce_Sum_f32_RING_LL"), kAllReduce);
  EXPECT_EQ(kind_named("nccl:_reduce_scatter_base"), kReduceScatter);
  EXPECT_EQ(kind_named("_allgather_base"), kAllGather);
  EXPECT_EQ(kind_named("c10d::alltoall_base_"), kAllToAll);
  EXPECT_EQ(kind_named("all_to_allv"), kAllToAll);
  EXPECT_EQ(kind_named("ncclDevKernel_Reduce_Sum_f32_RING_LL"), kReduce);
  EXPECT_EQ(kind_named("reduce"), kReduce);
  EXPECT_EQ(kind_named("ncclDevKernel_SendRecv"), kOther);
  EXPECT_EQ(kind_named("barrier"), kOther);
}

TEST(SmallCollectives, WhichCanBeMergedAndWhatThatSaves) {
  const auto all = message(5000);
  EXPECT_GT(latency(loop(10, all, 1)), 0);
  EXPECT_EQ(latency(loop(10, all, 2)), 0) << "layers between depend on them";
  EXPECT_EQ(latency(loop(10, message(1, "barrier"))), 0);
  EXPECT_EQ(latency(loop(10, message(1, "send"))), 0);
  // A fifth of the communication has to be small: of these, 400 us are.
  EXPECT_EQ(latency(with_large(1599, 100'000'000)), 9 * 36'000);
  EXPECT_EQ(latency(with_large(1601, 100'000'000)), 0);
  // 1 MiB and more in 1,048.576 us: 1 GB/s, at which 20,000 bytes take 20 us.
  EXPECT_EQ(latency(with_large(1048.576, 262'144)), 9 * 20'000);
  EXPECT_EQ(latency(loop(10, all).launched(-20, 0, 600, 99)), 0) << "hidden";
  // Two of ten waited 1 ms for a late rank; the lower quartile of the run is 40 us.
  EXPECT_EQ(latency(lengths({40, 40, 40, 1000, 40, 40, 1000, 40, 40, 40}, all)),
            9 * 36'000);
}

TEST(SmallCollectives, TheDeviceWaitsForTheHostToIssueEach) {
  // The device idles from 15 us after each call on; 100 us after it is the next, which
  // returns after 2 more. The kernel before the first counts for the gap before it.
  const auto issuing = [](int n) {
    TraceText text;
    text.call("cudaLaunchKernel", -60, 2, 99).kernel(-50, 10, 99);
    for (int i = 0; i < n; ++i) {
      text.call("cudaLaunchKernel", i * 100, 2, i + 1)
          .kernel(i * 100 + 5, 10, i + 1, kRing, 8);
    }
    return wasted(text, kSmallCollectives);
  };
  EXPECT_EQ(issuing(10), 9 * 87'000 + 9 * 10'000);  // and their latency
  EXPECT_EQ(issuing(9), 0);
}

TEST(SmallCollectives, AHostThatIsAheadIssuesForNothing) {
  TraceText text;
  for (int i = 0; i < 10; ++i) {
    text.call("cudaLaunchKernel", i * 3, 2, i + 1)
        .kernel(40 + i * 45, 40, i + 1, kRing, 8);
  }
  const auto found = find_in(text);
  EXPECT_EQ(wasted(found, kSmallCollectives), latency(found));
}

// A forward pass on two devices: 1 ms of copying by the main thread, then each device's
// own thread launches at once, then 0.5 ms of gathering.
TraceText parallel(int second_device = 1, const char* mark = "DataParallel.forward",
                   int second_process = 100) {
  TraceText text;
  text.note(mark, 0, 3000).op("Scatter", 10, 500);
  for (int i = 0; i < 2; ++i) {
    const int device = i == 0 ? 0 : second_device;
    const int pid = i == 0 ? 100 : second_process;
    text.host("cpu_op", "aten::conv2d", 1000, 1500, "", 11 + i, pid)
        .call("cudaLaunchKernel", 1000, 10, 1 + i, 11 + i, pid)
        .kernel(1010, 1490, 1 + i, "conv", 7 + i, device);
  }
  return text.op("Gather", 2500, 480)
      .call("cudaLaunchKernel", 2990, 10, 9)
      .kernel(3000, 1000, 9);
}

TraceText busy_devices() {
  TraceText text;
  text.note("DataParallel.forward", 100, 1000);
  for (int i = 0; i < 2; ++i) {
    text.launched(i * 10, 20, 2000, 1 + i, 7, "gemm", i)
        .launched(1110 + i * 10, 2020, 2000, 5 + i, 7, "gemm", i);
  }
  return text;
}

constexpr auto kDistributed = "DistributedDataParallel.forward";
constexpr auto kUnflatten = "aten::unflatten_dense_tensors";

// A forward pass that sends two buffers from rank 0 first.
TraceText forward(const char* range = kDistributed, const char* unpack = kUnflatten,
                  const char* send = "c10d::broadcast_") {
  TraceText text;
  text.note(range, 0, 1000)
      .op("aten::flatten_dense_tensors", 10, 100)
      .op(send, 120, 50)
      .launched(130, 140, 20, 1, 8, "ncclKernel_Broadcast_RING_LL_Sum_int8_t")
      .op(unpack, 180, 300);
  for (int i = 0; i < 2; ++i) {
    text.op("aten::copy_", 490 + i * 30, 20)
        .call("cudaMemcpyAsync", 495 + i * 30, 3, 2 + i)
        .copy("Memcpy DtoD (Device -> Device)", 505 + i * 30, 2, 2 + i, 256);
  }
  return text.op("aten::conv2d", 600, 100).launched(650, 660, 340, 9);
}

TEST(DataParallel, Costs) {
  const Cost cases[] = {
      // Both before the threads start: 1 ms. The first device again until the result
      // is launched, 2500 to 3000 us; of the second nothing more was asked.
      {"while the main thread hands out", parallel(), 2 * 1'000'000 + 500'000},
      {"backward gathers the gradients",
       parallel()
           .op("BroadcastBackward", 4100, 800, "", 20)
           .call("cudaLaunchKernel", 4950, 10, 50, 20)
           .kernel(4960, 40, 50),
       2'500'000 + 800'000},
      {"one device", parallel(0), 0},
      {"another module", parallel(1, kDistributed), 0},
      {"a process a device", parallel(1, "DataParallel.forward", 200), 0},
      {"busy devices lose nothing", busy_devices(), 0},
      {"without a device",
       TraceText().note("DataParallel.forward", 0, 1000).op("Scatter", 0, 900), 0},
      // From 10 to 540 us, less what the device did; of a gap until its launch
      // returned: 10 to 135, 160 to 498, 507 to 528, 537 to 540.
      {"distributed sends its buffers before each forward", forward(), 487'000},
      {"a module's own broadcast", forward("forward"), 0},
      {"without its unpacking", forward(kDistributed, "aten::split"), 0},
      {"of another kind", forward(kDistributed, kUnflatten, "c10d::allreduce_"), 0},
  };
  expect_costs(kDataParallel, cases);
  const auto module = find_in(parallel()).findings.at(0);
  EXPECT_EQ(figures(module), "data_parallel.module x1: 2500 us, 2500 idle");
  EXPECT_TRUE(says(module.message, "2 devices"));
  const auto buffers = first(forward(), kDataParallel);
  EXPECT_EQ(figures(buffers), "data_parallel.buffers x1: 487 us, 487 idle");
  EXPECT_TRUE(says(buffers.advice, "broadcast_buffers=False"));
}

}  // namespace
}  // namespace tta::patterns

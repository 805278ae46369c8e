// SPDX-License-Identifier: BSD-3-Clause
// The rule on hand-worked traces: it fires, it stays silent, and where the line is.
#include "patterns/blocking_calls.h"
#include "patterns/found.h"

namespace tta::patterns {
namespace {

constexpr auto kRead = "Memcpy DtoH (Device -> Pageable)";
constexpr auto kEngine = "autograd::engine::evaluate_function: Mul";

// A step: 1,000 us of kernel, .item() waits for it, 400 us of host work, next launch.
TraceText item_in_step(double wait_from = 20) {
  return TraceText()
      .python("train.py(12): step", 0, 3000)
      .launched(0, 10, 1000, 1)
      .op("aten::item", wait_from - 2, 1030 - wait_from)
      .op("aten::_local_scalar_dense", wait_from - 1, 1028 - wait_from)
      .call("cudaMemcpyAsync", wait_from, 1015 - wait_from, 2)
      .copy(kRead, 1010, 2, 2, 4)
      .call("cudaStreamSynchronize", 1016, 5, 3)
      .launched(1400, 1412, 1588, 4);
}

// A kernel until 1,010 us, a wait for it, and a kernel at `next`.
TraceText waited(double next, const char* call = "cudaStreamSynchronize") {
  return TraceText()
      .launched(0, 10, 1000, 1)
      .call(call, 20, 995, 2)
      .launched(next - 7, next, 1000, 3);
}

// The wait is on thread 1, the next launch comes from thread 2.
TraceText on_two_threads(double busy_from, const char* op = "serve") {
  return TraceText()
      .launched(0, 10, 1000, 1)
      .call("cudaStreamSynchronize", 20, 995, 2)
      .op(op, busy_from, 1390 - busy_from, "", 2)
      .call("cudaLaunchKernel", 1380, 5, 3, 2)
      .kernel(1410, 1000, 3);
}
TraceText on_three_threads(const char* op) {
  return on_two_threads(1100, op).call("cudaStreamSynchronize", -50, 5, 9, 3);
}

// A wait of `wait` us, then kernels of 10 us whose launches come 100 us late each.
TraceText late_after_a_wait(double wait) {
  TraceText text;
  text.launched(0, 10, 1000, 1).call("cudaStreamSynchronize", 1015 - wait, wait, 2);
  for (int i = 0; i < 5; ++i) {
    const double at = 1110 + i * 110;
    text.launched(at - 7, at, 10, 10 + i);
  }
  return text;
}

TraceText many_waits(double wait) {
  TraceText text;
  for (int i = 0; i < 10; ++i) {
    const double at = i * 1000;
    text.launched(at, at + 10, 500, 10 + i)
        .call("cudaStreamSynchronize", at + 511 - wait, wait, 100 + i);
  }
  return text;
}

// Each is over before its call returns.
TraceText small_copies() {
  TraceText text;
  for (int i = 0; i < 50; ++i) {
    const double at = i * 600;
    text.call("cudaMemcpyAsync", at, 12, 100 + i)
        .copy("Memcpy HtoD (Pinned -> Device)", at + 4, 2, 100 + i, 4)
        .launched(at + 500, at + 510, 50, 1 + i);
  }
  return text;
}

TEST(SyncStall, Costs) {
  const Cost cases[] = {
      // The host was blocked for 121 us, in the copy and the call after it: that much
      // further ahead it would have been without, and no more.
      {"no more than the wait itself", item_in_step(900), 121'000},
      {"another stream works on", item_in_step().launched(5, 15, 1450, 9, 8), 0},
      {"at the end of the trace",
       TraceText()
           .launched(0, 10, 1000, 1)
           .op("user", 15, 1)
           .call("cudaDeviceSynchronize", 20, 2000, 2),
       0},
      {"under 50 us", waited(1059), 0},
      {"50 us", waited(1060), 50'000},
      // The device is dry from 1,010 us, thread 2 goes to work at 1,100 us.
      {"of another thread until work begins", on_two_threads(1100), 90'000},
      {"at work during the wait: it did not wait", on_two_threads(500), 0},
      {"any thread's work ends it",
       on_two_threads(1100).op("aten::add", 1070, 5, "", 3), 60'000},
      {"autograd's works for the one that waited", on_two_threads(1100, kEngine),
       400'000},
      {"among many threads nobody knows who waits for whom", on_three_threads("serve"),
       0},
      {"but autograd's", on_three_threads(kEngine), 400'000},
      // Gaps of 100 us at 1,010, 1,120, 1,230, ...: as long as the wait was.
      {"goes on while the same thread is late", late_after_a_wait(250), 250'000},
      {"after a longer wait", late_after_a_wait(995), 500'000},
      {"a launch in the queue: the host had caught up",
       late_after_a_wait(250)
           .call("cudaLaunchKernel", 1104, 2, 99)
           .kernel(1125, 95, 99),
       100'000},
      {"a call that is short waited for nothing", many_waits(49.9), 0},
      {"one that is not", many_waits(50), 9 * 50'000},
      {"a small pinned copy on a free device blocks nobody", small_copies(), 0},
      {"clock skew: the call seems to return 3 us before its copy ends",
       TraceText()
           .launched(0, 10, 1000, 1)
           .op("aten::item", 18, 1020)
           .call("cudaMemcpyAsync", 20, 989, 2)
           .copy(kRead, 1010, 2, 2, 4)
           .launched(1400, 1412, 1588, 4),
       400'000},
  };
  expect_costs(kSyncStall, cases);
  // From the copy's end (1012 us) to the next kernel (1412 us).
  EXPECT_EQ(all_in(item_in_step()),
            "sync_stall.scalar_read x1: 400 us, 400 idle, train.py:12");
  EXPECT_EQ(first(item_in_step(), kSyncStall).operator_name,
            "aten::_local_scalar_dense");
}

TEST(SyncStall, NamesItsKindByTheOutermostOperatorAround) {
  const auto kind = [](const char* op, const char* call) {
    return all_in(waited(1310, call).op(op, 18, 1005));
  };
  const auto* const stream = "cudaStreamSynchronize";
  EXPECT_TRUE(says(kind("aten::nonzero", stream), ".data_dependent_shape"));
  EXPECT_TRUE(says(kind("aten::copy_", stream), ".blocking_copy"));
  EXPECT_TRUE(says(kind("mine", "cudaEventSynchronize"), ".event"));
  EXPECT_TRUE(says(kind("mine", "hipDeviceSynchronize"), ".explicit"));
  EXPECT_FALSE(says(kind("mine", "cudaEventQuery"), "sync_stall"));
  // cuDNN measuring its algorithms is not a user's synchronization.
  EXPECT_FALSE(
      says(kind("aten::cudnn_convolution", "cudaEventSynchronize"), "sync_stall"));
  EXPECT_TRUE(says(all_in(waited(1310)
                              .op("aten::repeat_interleave", 15, 1010)
                              .op("aten::_local_scalar_dense", 18, 1000)),
                   ".data_dependent_shape"));
}

TEST(ListWaits, HasEachWaitCostlyOrNot) {
  const auto trace = TraceText()
                         .python("train.py(12): step", 0, 3000)
                         .launched(0, 10, 1000, 1)
                         .op("aten::item", 15, 1010)
                         .call("cudaMemcpyAsync", 20, 980, 2)
                         .copy(kRead, 1000, 2, 2, 4)
                         .call("cudaStreamSynchronize", 1005, 5, 3)
                         .host("cuda_runtime", "cudaDeviceSynchronize", 3100, 900)
                         .load();
  const auto waits = blocking_calls(timeline::make_timeline(trace));
  ASSERT_EQ(waits.size(), 1u);  // nothing follows it; the profiler's own is left out
  EXPECT_EQ(waits[0].begin, 20'000);
  EXPECT_EQ(waits[0].end, 1'010'000);
  EXPECT_EQ(waits[0].operator_name, "aten::item");
  EXPECT_EQ(waits[0].location->line, 12);
}

}  // namespace
}  // namespace tta::patterns

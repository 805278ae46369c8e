// SPDX-License-Identifier: BSD-3-Clause
// Copies and kernels. A launch call takes 5 us, which is the launch cost.
#include "features/examples.h"

namespace tta::features {

using test::TraceText;

namespace {

Example names() {
  TraceText text;
  for (int i = 0; i < 5; ++i) {
    text.launched(100 * i, 100 * i + 10, i == 4 ? 40 : 10, i + 1);
  }
  text.launched(500, 510, 2, 9, 7, "reduce_kernel");
  return {"kernels by name",
          text,
          {
              // Of gemm 10 10 10 10 40, of the other its own: five of six are as usual,
              // and nine tenths of six are all of them.
              {"kernel_ratio_median", 1},
              {"kernel_ratio_p90", ratio(40, 10)},
              {"kernel_median", ratio(10, 5)},
              {"kernels_matrix", 80.0 / 82},
              {"kernel_largest", 80.0 / 82},
              {"kernels_short_time", 2.0 / 82},
              {"kernel_names", 2.0 / 6},
              {"work_per_launch", 1},
              {"grids_small", kMissing},  // no grid is known
          }};
}

Example copies() {
  return {"copies",
          TraceText()
              .call("cudaMemcpyAsync", 0, 60, 1)
              .copy("Memcpy HtoD (Pageable -> Device)", 10, 50, 1, 1 << 20)
              .call("cudaMemcpyAsync", 70, 5, 2)
              .copy("Memcpy DtoH (Device -> Pinned)", 80, 10, 2, 100)
              .call("cudaMemcpyAsync", 91, 2, 3)
              .copy("Memcpy DtoD (Device -> Device)", 95, 5, 3, 100)
              .launched(100, 110, 35, 4),
          {
              {"copies", 3.0 / 4},
              {"to_device", 1.0 / 3},
              {"to_host", 1.0 / 3},
              {"copies_pageable", 1.0 / 2},
              {"copies_pinned", 1.0 / 2},
              {"copies_blocking", 1.0 / 2},
              {"copies_small", 2.0 / 3},
              {"copy_bytes", count((1 << 20) + 200)},
              {"copy_time", 65.0 / 100},
              {"copying_exposed", 65.0 / 145},
          }};
}

// ROCm says "Host": of the rest half is pinned.
Example silent_copies() {
  return {"copies of unknown memory",
          TraceText()
              .copy("Memcpy HtoD (Host -> Device)", 0, 10, 1, 100)
              .copy("Memcpy HtoD (Host -> Device)", 10, 10, 2, 100)
              .copy("Memcpy HtoD (Pinned -> Device)", 20, 10, 3, 100)
              .copy("Memcpy DtoH (Device -> Pageable)", 30, 10, 4, 100)
              .device_work("gpu_memset", "Memset (Device)", 40, 10, 5, "", 7, 0),
          {
              {"copies_pageable", 1.0 / 2},
              {"copies_pinned", 1.0 / 2},
              {"memsets", 1.0 / 5},
              {"copies", 4.0 / 5},
              {"to_device", 3.0 / 4},
              {"copy_time", 40.0 / 50},
              {"copies_blocking", 0},
          }};
}

Example no_copy_tells() {
  return {"no copy tells its memory",
          TraceText().copy("Memcpy HtoD (Host -> Device)", 0, 10, 1, 100),
          {{"copies_pageable", kMissing}, {"copies_pinned", kMissing}}};
}

// 100 multiprocessors of 2048 threads. Half of them get a block of 256: an eighth of
// their threads, a sixteenth of all, which the profiler's whole percents round to 0 as
// they would 0.4. The collective says nothing of the program.
Example grids() {
  const auto args = [](int blocks, int percent) {
    return ", \"grid\": [" + std::to_string(blocks) +
           ", 1, 1], \"block\": [256, 1, 1], \"registers per thread\": 32, "
           "\"shared memory\": 0, \"est. achieved occupancy %\": " +
           std::to_string(percent);
  };
  return {"grids",
          TraceText()
              .header("\"deviceProperties\": [{\"id\": 0, \"numSms\": 100, "
                      "\"warpSize\": 32, \"maxThreadsPerMultiprocessor\": 2048, "
                      "\"regsPerMultiprocessor\": 65536, "
                      "\"sharedMemPerMultiprocessor\": 167936, "
                      "\"computeMajor\": 8, \"computeMinor\": 0}]")
              .call("cudaLaunchKernel", 0, 5, 1)
              .device_work("kernel", "gemm", 10, 10, 1, args(50, 0), 7, 0)
              .call("cudaLaunchKernel", 10, 5, 2)
              .device_work("kernel", "gemm", 20, 30, 2, args(1000, 50), 7, 0)
              .call("cudaLaunchKernel", 15, 5, 3)
              .device_work("kernel", "ncclDevKernel_AllReduce_Sum_f32", 50, 100, 3,
                           args(2, 1), 7, 0)
              .call("cudaLaunchKernel", 20, 5, 4)
              .device_work("kernel", "ncclDevKernel_AllReduce_Sum_f32", 150, 2, 4,
                           args(2, 1), 7, 0),
          {
              {"grids_small", 10.0 / 40},
              {"occupancy", (10 * 0.0625 + 30 * 0.5) / 40},
              // gemm 10 and 30, usually 10; the collective 2 and 100, usually 2.
              {"kernel_ratio_p90", ratio(30, 10)},
              {"kernel_median", ratio(10, 5)},
              {"kernels_short_time", 0},
              {"kernel_largest", 102.0 / 142},
          }};
}

// The launch of a graph, the only call there is, takes 10 us.
Example graph() {
  return {"graph",
          TraceText()
              .call("cudaGraphLaunch", 0, 10, 1)
              .kernel(20, 10, 1)
              .kernel(30, 10, 1)
              .kernel(45, 5, 1)
              .kernel(50, 10, 99),
          {
              {"kernels_in_graph", 3.0 / 4},
              {"work_per_launch", count(3)},
              {"kernels_short_time", 5.0 / 35},
              {"launch_p90", 1},
              {"idle_tiny", 5.0 / 60},
              {"gaps_per_work", 2.0 / 4},
          }};
}

// As ROCm rounds: each kernel seems to begin a nanosecond after the one before.
Example chain() {
  TraceText text;
  text.call("hipGraphLaunch", 0, 5, 1);
  for (int i = 0; i < 8; ++i) text.kernel(5 + 10 * i, 9.999, 1);
  text.call("hipLaunchKernel", 14.999, 5, 2).kernel(85.5, 4.5, 2);
  return {"chain of rounded times",
          text,
          {
              {"gaps_per_work", 2.0 / 9},    // the first, and the last after 501 ns
              {"gap_longest", ratio(5, 5)},  // before the first
              {"gap_median", ratio(0.501, 5)},
              {"launched_late", 8.0 / 9},  // not the last, made between the first two
          }};
}

}  // namespace

std::vector<Example> kernel_examples() {
  return {names(), copies(), silent_copies(), no_copy_tells(),
          grids(), graph(),  chain()};
}

}  // namespace tta::features

// SPDX-License-Identifier: BSD-3-Clause
// Devices and their queues. A launch call takes 5 us, which is the launch cost.
#include "features/examples.h"

namespace tta::features {

using test::TraceText;

namespace {

// 100 us. The device works in [20, 40) and [80, 90), for it gaps of 20, 40 and 10 us.
Example one_wait() {
  return {"one wait",
          TraceText()
              .op("aten::mm", 0, 30)
              .launched(10, 20, 20, 1)
              .call("cudaStreamSynchronize", 30, 30, 5)
              .op("aten::add", 60, 20)
              .launched(70, 80, 10, 2, 7, "vectorized_elementwise_kernel")
              .op("aten::empty", 95, 5),
          {
              {"length_ratio", 1},
              {"events", count(8)},
              {"work_share", 2.0 / 8},
              {"share_of_step", kMissing},
              {"busy", 0.3},
              // 4, 8 and 2 launch costs.
              {"idle_tiny", 0},
              {"idle_short", 0.1},
              {"idle_medium", 0.6},
              {"idle_long", 0},
              {"gap_longest", ratio(40, 5)},
              {"gap_median", ratio(20, 5)},
              {"gaps_per_work", 1},
              // [0, 10) in mm; [40, 60) in the wait, [60, 70) in add. No launch ends
              // the last gap.
              {"late", 0.4},
              {"late_of_idle", 40.0 / 70},
              {"late_in_operators", 0.2},
              {"late_in_wait", 0.2},
              {"late_in_python", 0},
              {"delivery", 0.2},
              {"idle_after_wait", 0.4},
              {"launched_late", 1},
              {"launch_delay_median", ratio(5, 5)},
              {"queued", 0.2},
              {"queued_ahead", 0},
              {"waiting", 0.3},
              {"waiting_idle", 0.2},
              {"waits", 1.0 / 6},
              {"wait_longest", ratio(30, 5)},
              {"launch_p90", ratio(5, 5)},
              // Of 85 us: operators 25 + 15 + 5, launches 5 + 5, the wait 30.
              {"in_operators", 45.0 / 85},
              {"in_launches", 10.0 / 85},
              {"in_waits", 30.0 / 85},
              {"in_python", 0.15},
              {"operators_busy", 0.55},
              {"threads_active", count(0.55)},
              {"matrix_time", 25.0 / 45},
              {"elementwise_time", 15.0 / 45},
              {"operators", 3.0 / 6},
              {"matrix", 1.0 / 3},
              {"views", 1.0 / 3},
              {"op_names", 1},
              {"depth_mean", count(2.0 / 6)},
              {"kernel_median", ratio(10, 5)},
              {"kernels_matrix", 20.0 / 30},
              {"kernels_elementwise", 10.0 / 30},
              {"grids_small", kMissing},
              {"occupancy", kMissing},
          }};
}

// Six launches of work that comes later, one after the other.
Example far_ahead() {
  TraceText text;
  for (int i = 0; i < 6; ++i) text.launched(10 * i, 100 + 10 * i, 10, i + 1);
  return {"far ahead",
          text,
          {
              // At its begins 5, 4, 3, 2, 1, 0 wait.
              {"queue_median", count(2)},
              {"queued", 150.0 / 160},
              {"queued_ahead", 90.0 / 160},  // from the fourth call to the third begin
              {"launch_delay_median", ratio(95, 5)},
              {"launched_late", 1},
              {"late", 0},
              {"late_of_idle", 0},
              {"delivery", 100.0 / 160},
              {"idle_medium", 100.0 / 160},
              {"gaps_per_work", 1.0 / 6},
              {"repeats", 10.0 / 12},
              {"new_names", 2.0 / 12},
          }};
}

// Work on two streams, the last of it a collective whose call is not recorded.
Example two_streams() {
  return {"two streams",
          TraceText()
              .launched(0, 10, 20, 1)
              .launched(20, 70, 10, 2)
              .kernel(75, 20, 99, "ncclDevKernel_AllReduce_Sum_f32", 8),
          {
              {"busy", 45.0 / 95},
              {"communication", 20.0 / 95},
              {"communication_exposed", 15.0 / 95},
              {"overlap", 5.0 / 50},
              {"launch_unknown", 1.0 / 3},
              {"launched_late", 1.0 / 2},
              // 5 and 45 us after their calls.
              {"launch_delay_median", ratio(5, 5)},
              {"launch_delay_p90", ratio(45, 5)},
              {"work_per_launch", count(1)},
          }};
}

// Before the one launch a thread collects garbage for 10 us, loads code for 20, takes
// memory for 6 and makes another call for 4.
Example busy_thread() {
  return {"busy thread",
          TraceText()
              .note("Python GC", 0, 10)
              .call("cuModuleLoadData", 10, 20, 11)
              .call("cudaMalloc", 30, 6, 12)
              .call("cudaEventRecord", 36, 4, 13)
              .launched(40, 50, 10, 1),
          {
              {"late", 40.0 / 60},
              {"late_in_gc", 10.0 / 60},
              {"late_in_compile", 20.0 / 60},
              {"late_in_memory", 6.0 / 60},
              {"late_in_calls", 4.0 / 60},
              {"in_gc", 10.0 / 60},
              {"in_compile", 20.0 / 60},
              {"in_memory", 6.0 / 45},
              {"in_calls", 4.0 / 45},
              {"in_launches", 5.0 / 45},
              {"in_python", 15.0 / 60},
              {"idle_medium", 50.0 / 60},
          }};
}

// A mark of the loader takes what runs inside; then 10 us in a range of the program
// and 5 in nothing.
Example loader() {
  return {"loader",
          TraceText()
              .note("enumerate(DataLoader)#_SingleProcess.__next__", 0, 50)
              .op("aten::stack", 10, 30)
              .note("my range", 50, 10)
              .launched(65, 75, 25, 1),
          {
              {"in_loader", 50.0 / 55},
              {"late_in_loader", 0.5},
              {"late_in_operators", 0},
              {"late_in_python", 0.15},
              {"in_python", 0.45},
          }};
}

// All gaps are 200 us, 40 launch costs.
Example long_gaps() {
  return {"long gaps",
          TraceText().launched(0, 200, 50, 1).launched(300, 450, 50, 2),
          {{"idle_long", 0.8}, {"gap_median", ratio(200, 5)}}};
}

}  // namespace

std::vector<Example> device_examples() {
  return {one_wait(), far_ahead(), two_streams(), busy_thread(), loader(), long_gaps()};
}

}  // namespace tta::features

// SPDX-License-Identifier: BSD-3-Clause
// pipeline/tables/tables.h: what ran, by name and by kind, whether it is a problem or
// not.
//
// None of it is part of an analysis: each table is made when it is asked for, in time
// linear in the rows it is of (and n log n in its own).
//
// Work on several streams overlaps, and so do launches of one kernel. So each row has
// both: `sum_ns` adds durations up as recorded, and may exceed the time there was;
// `union_ns` counts each moment of a device inside the span once, and never does.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pipeline/report.h"
#include "timeline/event_args.h"
#include "timeline/timeline.h"

namespace tta::pipeline {

/// How often something ran on devices, and for how long.
struct WorkTimes {
  std::uint64_t count = 0;
  std::int64_t sum_ns = 0;
  std::int64_t union_ns = 0;  ///< Of each device for itself, added up.
  std::int64_t min_ns = 0;
  std::int64_t max_ns = 0;
};

/// All launches of one kernel, on all devices.
struct KernelRow {
  std::uint32_t name = 0;  ///< Id in Trace::strings.
  bool communication = false;
  WorkTimes times;
  /// The most frequent launch shape (of equally frequent ones the smallest): blocks of
  /// the grid and threads of a block. -1 if no launch tells.
  std::int64_t blocks = -1;
  std::int64_t block_threads = -1;
  /// "est. achieved occupancy %", 0 to 100, weighted by the duration of the launches
  /// that tell it; -1 if none does (0 is no answer of a launch that fills its device).
  double occupancy = -1;
};

/// All copies of one direction and kind of host memory, or all memsets.
struct CopyRow {
  std::string direction;  ///< "HtoD", "DtoH", "DtoD", "PtoP", "HtoH", "memset", "".
  std::string memory;     ///< Of the host: "pageable", "pinned"; "" if unknown or none.
  WorkTimes times;
  std::uint64_t with_bytes = 0;   ///< How many tell their size.
  std::int64_t bytes = 0;         ///< Of those together.
  std::int64_t median_bytes = 0;  ///< Of those; the lower of two.
  /// Bytes over the sum of their durations, in GB/s; -1 if none tells its size.
  double bandwidth = -1;
};

struct WorkTables {
  std::vector<KernelRow> kernels;  ///< Most union_ns first.
  std::vector<CopyRow> copies;     ///< The same.
};

/// Adds device work up by kernel and by kind of copy. What is neither copy nor memset
/// counts as a kernel (MTIA's and HPU's work too).
WorkTables make_work_tables(const timeline::Timeline& timeline,
                            const timeline::EventArgs& args);

/// All calls of one operator, on all threads.
struct OperatorRow {
  std::uint32_t name = 0;  ///< Id in Trace::strings.
  std::uint64_t count = 0;
  /// Host time. Of calls inside a call of the same operator only the outer one counts.
  std::int64_t total_ns = 0;
  std::int64_t self_ns = 0;  ///< Outside of the operators it called.
  std::int64_t min_ns = 0;   ///< Of one call, with what it called.
  std::int64_t max_ns = 0;
  /// Device work launched inside it, and of that what no operator inside it launched:
  /// sums of durations, which may overlap. Work whose launch is unknown is nobody's.
  std::int64_t device_ns = 0;
  std::int64_t self_device_ns = 0;
  std::uint64_t work = 0;  ///< Kernels, copies and memsets in device_ns.
};

/// Adds operators up by name, most self_ns first. Those that only name a stretch
/// (steps, the loader and the optimizer, as torch 1.8 records them) are left out.
std::vector<OperatorRow> make_operator_table(const timeline::Timeline& timeline);

/// One thread's time: all but `events` are parts of the span, which they add up to.
///
/// Each moment counts once, by the innermost event that says something. Time inside a
/// loader's mark, a compilation or a collective of the backend is that, whatever runs
/// inside; time in an operator is the operator's, with all that it calls, but for
/// waits.
struct ThreadRow {
  std::int64_t pid = 0;
  std::int64_t tid = 0;
  std::string name;  ///< As the trace has it; "" if it does not name it.
  std::uint64_t events = 0;
  std::int64_t operators_ns = 0;  ///< Inside operators.
  std::int64_t calls_ns = 0;      ///< Inside runtime calls outside of operators.
  std::int64_t compile_ns = 0;    ///< torch.compile or Triton compiling.
  /// In Python frames or in ranges of the program (no steps), in nothing of the above.
  std::int64_t python_ns = 0;
  std::int64_t loader_ns = 0;  ///< Inside the data loader's marks.
  /// In collectives of CPU tensors: waiting for one, or carrying it out.
  std::int64_t wait_comm_ns = 0;
  std::int64_t wait_device_ns = 0;  ///< In calls that wait for a device, host_calls.h.
  /// In other builtins of Python that wait: for locks, conditions, files, processes,
  /// autograd's threads, or to have slept.
  std::int64_t wait_other_ns = 0;
  std::int64_t profiler_ns = 0;  ///< Inside the profiler's own work.
  std::int64_t idle_ns = 0;      ///< Without any event, steps aside.

  std::int64_t busy_ns() const {
    return operators_ns + calls_ns + compile_ns + python_ns;
  }
};

/// Divides the span up for each thread, the busiest first. Those without an event in
/// it, or with none but steps and the profiler's own, are left out. Linear in the rows,
/// but for comm_on_host().
std::vector<ThreadRow> make_thread_table(const timeline::Timeline& timeline,
                                         const timeline::EventArgs& args);

/// Numbers of kernels, and how they are spread.
struct Counts {
  std::vector<std::uint64_t> each;  ///< In the report's order.
  std::uint64_t min = 0;            ///< 0 for all of them if `each` is empty.
  double median = 0;
  std::uint64_t max = 0;
};

struct KernelCounts {
  /// Of each step: kernels launched in it by its process, wherever they ran; of kernels
  /// without a known launch, those that start in it. Empty without device work.
  Counts steps;
  Counts windows;  ///< Of each window: kernels of its device that start in it.
};

/// Counts kernels (no copies, no memsets) by step and by window.
KernelCounts count_kernels(const Report& report);

}  // namespace tta::pipeline

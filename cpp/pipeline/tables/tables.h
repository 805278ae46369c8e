// SPDX-License-Identifier: BSD-3-Clause
// pipeline/tables/tables.h: what ran, by name and by kind, whether it is a problem or
// not.
//
// None of it is part of an analysis: each table is made when it is asked for, in time
// linear in the rows it is of (and n log n in its own).
#pragma once

#include <string>
#include <vector>

#include "pipeline/report.h"
#include "timeline/event_args.h"
#include "timeline/timeline.h"

namespace tta::pipeline {

struct WorkTables {
  std::vector<Kernel> kernels;  ///< Most union_ns first.
  std::vector<Copy> copies;     ///< The same.
};

/// Adds device work up by kernel and by kind of copy. Everything but copies and memsets
/// counts as a kernel (MTIA's and HPU's work too). `busy_ns`: of all devices.
WorkTables make_work_tables(const timeline::Timeline& timeline,
                            const timeline::EventArgs& args, std::int64_t busy_ns);

/// Adds operators up by name, most self_ns first. Those that only name a stretch
/// (steps, the loader and the optimizer, as torch 1.8 records them) are left out.
std::vector<Operator> make_operator_table(const timeline::Timeline& timeline);

/// Holds the operators that launched device work against the peaks of their devices
/// (timeline/gpu_table.h), most time lost first; those without an efficiency last, by
/// their time. Work that a graph launched, or without a launch in the trace, belongs to
/// no operator. Empty without recorded shapes.
std::vector<RooflineRow> make_roofline_table(const timeline::Timeline& timeline,
                                             const work::OperatorTimes& operators);

/// Makes the row of some calls.
RooflineRow make_roofline_row(const timeline::Timeline& timeline,
                              const work::OperatorTimes& operators,
                              const work::OperatorCalls& calls);

/// Lists how much of its peaks each device reached: all of the span, then each step of
/// its process.
std::vector<Utilization> list_utilization(const Report& report,
                                          const work::OperatorTimes& operators);

/// Writes the sizes of an operator's tensors: "[64, 128] [128, 256]".
std::string sizes_text(const timeline::OpArgs& inputs);

/// Lists graphs by their work, and their nodes in order; empty without any. O(n log n)
/// in the work of graphs. Throws what timeline::user_frames throws.
std::vector<Graph> list_graphs(const Report& report);
std::vector<GraphNode> list_graph_nodes(const Report& report);

/// Lists collectives whose size is known, most time first.
std::vector<CollectiveRate> list_collectives(const timeline::Timeline& timeline,
                                             const timeline::EventArgs& args);

/// Lists the forward passes of serving engines, process by process, in order of time.
/// O(n log n) in device work.
std::vector<EngineStep> make_engine_steps(const Report& report);

/// Adds them up by engine and kind, most steps first. O(n log n) in device work.
std::vector<EngineKind> make_engine_kinds(const Report& report);

/// Describes the memory of each device and of the host, from "[memory]" events of any
/// version of torch (timeline/memory.h); empty without any. O(n log n) in these events,
/// and a pass over the file where stacks are in the args of operators (torch 1.8-2.0):
/// throws what Trace::read_args throws.
std::vector<Memory> make_memory_table(const timeline::Timeline& timeline);

/// Divides the span up for each thread, the busiest first. Threads without an event in
/// it, or with only steps and the profiler's own, are left out. Linear in the rows,
/// except for comm_on_host().
std::vector<Thread> make_thread_table(const timeline::Timeline& timeline,
                                      const timeline::EventArgs& args);

/// Counts kernels by step and by window.
KernelCounts count_kernels(const Report& report);

/// Measures every device with work. O(n log n) in the device rows.
std::vector<Overlap> list_overlap(const timeline::Timeline& timeline);

}  // namespace tta::pipeline

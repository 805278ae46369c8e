// SPDX-License-Identifier: BSD-3-Clause
// features/window_columns.h: the one table of window statistics.
//
// Simulated and real traces differ in rates (launches per ms) far more than in shares,
// so that whatever can be is a share of something of the same window, or a ratio to
// what is usual in the same trace: then the hardware cancels out too. If all times of a
// trace were twice as long, no share, ratio or count would change.
//
// Units: "share" is 0 to 1; "log2 ratio" is log2(1 + a / b) of a length a and the b
// that it is divided by, 1 where they are equal; "log2 count" and the like are log2(1 +
// n). The launch cost is the trace's median launch call, see features/whole.h. Kernels
// that "compute" are all but those of collectives, whose length is a wait for other
// ranks.
#pragma once

// name, type, unit, what it is divided by, when it is NaN ("": never), what it is
#define TTA_WINDOW_SHAPE(X)                                                            \
  X(length_ratio, float, "log2 ratio", "median window of the trace", "", "its length") \
  X(events, float, "log2 count", "", "",                                               \
    "operators, ranges, calls and work that start here")                               \
  X(work_share, float, "share", "events", "no device", "events that are device work")  \
  X(share_of_step, float, "share", "its step", "in no step", "length of the window")   \
  X(place_in_step, float, "share", "its step", "in no step", "where its middle lies")  \
  X(new_names, float, "share", "events", "",                                           \
    "events of a name that is new in the trace")                                       \
  X(repeats, float, "share", "events", "",                                             \
    "events that repeat the one before with its subtree")

#define TTA_WINDOW_DEVICE(X)                                                           \
  X(busy, float, "share", "window", "no device", "the device ran something")           \
  X(idle_tiny, float, "share", "window", "no device, or no launch cost",               \
    "in gaps under a launch cost")                                                     \
  X(idle_short, float, "share", "window", "no device, or no launch cost",              \
    "in gaps of 1 to 4 launch costs")                                                  \
  X(idle_medium, float, "share", "window", "no device, or no launch cost",             \
    "in gaps of 4 to 32 launch costs")                                                 \
  X(idle_long, float, "share", "window", "no device, or no launch cost",               \
    "in gaps of 32 launch costs and more")                                             \
  X(gaps_per_work, float, "share", "work", "no work",                                  \
    "work that found the device idle, for longer than the trace can tell from "        \
    "zero")                                                                            \
  X(gap_median, float, "log2 ratio", "launch cost", "no gap, or no launch cost",       \
    "gaps that touch the window")                                                      \
  X(gap_longest, float, "log2 ratio", "launch cost", "no gap, or no launch cost",      \
    "the longest of them")                                                             \
  X(communication, float, "share", "window", "no device", "a collective's kernel ran") \
  X(communication_exposed, float, "share", "window", "no device",                      \
    "it ran, and none computed")                                                       \
  X(copying_exposed, float, "share", "window", "no device",                            \
    "a copy ran, and no kernel computed")                                              \
  X(overlap, float, "share", "device time", "no device time",                          \
    "more than one piece of work ran")

#define TTA_WINDOW_QUEUE(X)                                                           \
  X(launch_unknown, float, "share", "work", "no work", "work without a known launch") \
  X(launch_delay_median, float, "log2 ratio", "launch cost",                          \
    "no launch known, or no launch cost", "end of the call to start of the work")     \
  X(launch_delay_p90, float, "log2 ratio", "launch cost",                             \
    "no launch known, or no launch cost", "the same, 90th percentile")                \
  X(queued, float, "share", "window", "no device", "launched work was waiting")       \
  X(queued_ahead, float, "share", "window", "no device",                              \
    "four launches and more were waiting")                                            \
  X(queue_median, float, "log2 count", "", "no work", "waiting as work starts")       \
  X(launched_late, float, "share", "work of known launch", "no launch known",         \
    "the device was idle as the call was made")                                       \
  X(late, float, "share", "window", "no device",                                      \
    "idle before the call that ended the gap was made, the profiler's own work on "   \
    "its thread included")                                                            \
  X(late_of_idle, float, "share", "idle time", "never idle", "late")                  \
  X(delivery, float, "share", "window", "no device", "idle after that call was made") \
  X(late_in_wait, float, "share", "window", "no device",                              \
    "late, its thread waited for a device")                                           \
  X(late_in_operators, float, "share", "window", "no device",                         \
    "late, its thread was in operators")                                              \
  X(late_in_calls, float, "share", "window", "no device",                             \
    "late, its thread was in other runtime calls")                                    \
  X(late_in_memory, float, "share", "window", "no device",                            \
    "late, its thread allocated or freed memory")                                     \
  X(late_in_python, float, "share", "window", "no device",                            \
    "late, its thread was in Python, or in no recorded event")                        \
  X(late_in_loader, float, "share", "window", "no device",                            \
    "late, its thread waited for the data loader")                                    \
  X(late_in_compile, float, "share", "window", "no device",                           \
    "late, its thread compiled or loaded code")                                       \
  X(late_in_gc, float, "share", "window", "no device",                                \
    "late, its thread collected garbage")                                             \
  X(idle_after_wait, float, "share", "window", "no device",                           \
    "idle in gaps in or before which the launching thread ended a wait")

#define TTA_WINDOW_COPIES(X)                                                           \
  X(copies, float, "share", "work", "no work", "copies of any direction")              \
  X(to_device, float, "share", "copies", "no copy", "copies from the host")            \
  X(to_host, float, "share", "copies", "no copy", "copies to the host")                \
  X(copies_pageable, float, "share", "copies with the host that tell", "none tells",   \
    "whose name says pageable memory")                                                 \
  X(copies_pinned, float, "share", "copies with the host that tell", "none tells",     \
    "whose name says pinned memory")                                                   \
  X(copies_blocking, float, "share", "copies with the host", "no such copy",           \
    "whose call waited")                                                               \
  X(copies_small, float, "share", "copies that tell bytes", "none tells",              \
    "of less than 64 KiB")                                                             \
  X(copy_bytes, float, "log2 bytes", "", "none tells", "of all copies together")       \
  X(copy_time, float, "share", "device time", "no device time", "copies, memsets not") \
  X(memsets, float, "share", "work", "no work", "memsets")

#define TTA_WINDOW_KERNELS(X)                                                          \
  X(kernel_ratio_median, float, "log2 ratio", "median of its name",                    \
    "no kernel computes", "length of kernels that compute")                            \
  X(kernel_ratio_p90, float, "log2 ratio", "median of its name", "no kernel computes", \
    "the same, 90th percentile")                                                       \
  X(kernel_median, float, "log2 ratio", "launch cost",                                 \
    "no kernel computes, or no launch cost", "length of kernels that compute")         \
  X(kernels_short_time, float, "share", "time of kernels that compute",                \
    "none computes, or no launch cost", "in kernels shorter than the launch cost")     \
  X(kernel_names, float, "share", "kernels", "no kernel", "names that differ")         \
  X(kernel_largest, float, "share", "kernel time", "no kernel time",                   \
    "of the name that takes most")                                                     \
  X(kernels_matrix, float, "share", "kernel time", "no kernel time",                   \
    "products, convolutions, attention")                                               \
  X(kernels_elementwise, float, "share", "kernel time", "no kernel time",              \
    "elementwise")                                                                     \
  X(kernels_in_graph, float, "share", "kernels", "no kernel", "replayed by a graph")   \
  X(grids_small, float, "share", "time of kernels that compute, of known grid",        \
    "no grid known",                                                                   \
    "of kernels with fewer blocks than the device has multiprocessors")                \
  X(occupancy, float, "share", "", "none is known",                                    \
    "estimated occupancy of kernels that compute, weighted by time")                   \
  X(work_per_launch, float, "log2 count", "", "no launch known",                       \
    "work for each launch call")

#define TTA_WINDOW_HOST(X)                                                             \
  X(threads_active, float, "log2 count", "", "",                                       \
    "threads in operators, calls and marks other than waits, on average")              \
  X(operators_busy, float, "share", "window", "", "a thread was in an operator")       \
  X(in_operators, float, "share", "host time", "no host time",                         \
    "in operators, their runtime calls apart")                                         \
  X(in_launches, float, "share", "host time", "no host time",                          \
    "in calls that launch kernels or graphs")                                          \
  X(in_calls, float, "share", "host time", "no host time",                             \
    "in other calls, waits and memory apart")                                          \
  X(in_memory, float, "share", "host time", "no host time",                            \
    "in calls that allocate or free memory")                                           \
  X(in_waits, float, "share", "host time", "no host time",                             \
    "in calls that wait for a device")                                                 \
  X(in_python, float, "share", "window", "",                                           \
    "every thread was in Python, or in no recorded event")                             \
  X(in_loader, float, "share", "host time", "no host time",                            \
    "in the data loader's marks")                                                      \
  X(in_compile, float, "share", "window", "",                                          \
    "a thread compiled or loaded code, as frames and marks tell")                      \
  X(in_collectives, float, "share", "host time", "no host time",                       \
    "in collectives of CPU tensors")                                                   \
  X(in_gc, float, "share", "window", "",                                               \
    "a thread collected garbage, as frames and marks tell")                            \
  X(in_optimizer, float, "share", "window", "", "a thread was in an optimizer's mark") \
  X(waiting, float, "share", "window", "", "a thread waited for a device")             \
  X(waiting_idle, float, "share", "window", "no device",                               \
    "a thread waited, and the device was idle")                                        \
  X(wait_longest, float, "log2 ratio", "launch cost", "no wait, or no launch cost",    \
    "the longest wait that begins here")                                               \
  X(waits, float, "share", "host events", "no host event", "calls that wait")          \
  X(launch_p90, float, "log2 ratio", "launch cost", "no launch, or no launch cost",    \
    "90th percentile of the length of launch calls")

#define TTA_WINDOW_OPERATORS(X)                                                        \
  X(operators, float, "share", "host events", "no host event", "operators")            \
  X(views, float, "share", "operators", "no operator",                                 \
    "views, and aten::empty and similar")                                              \
  X(elementwise, float, "share", "operators", "no operator", "elementwise arithmetic") \
  X(matrix, float, "share", "operators", "no operator",                                \
    "products, convolutions, attention")                                               \
  X(reductions, float, "share", "operators", "no operator",                            \
    "reductions, norms, softmax, pools")                                               \
  X(indexing, float, "share", "operators", "no operator",                              \
    "index, gather, embedding, cat")                                                   \
  X(op_copies, float, "share", "operators", "no operator", "copies and casts")         \
  X(fills, float, "share", "operators", "no operator", "zeros and fills")              \
  X(reads, float, "share", "operators", "no operator",                                 \
    "values or shapes read by the host")                                               \
  X(optimizer, float, "share", "operators", "no operator",                             \
    "foreach and fused optimizers, optimizer marks")                                   \
  X(collectives, float, "share", "operators", "no operator", "collectives")            \
  X(backward, float, "share", "operators", "no operator",                              \
    "nodes of the backward graph")                                                     \
  X(compiled, float, "share", "operators", "no operator", "of torch.compile")          \
  X(quantized, float, "share", "operators", "no operator", "quantize and dequantize")  \
  X(matrix_time, float, "share", "operator time", "no operator time",                  \
    "own time of products, convolutions, attention")                                   \
  X(elementwise_time, float, "share", "operator time", "no operator time",             \
    "own time of elementwise operators")                                               \
  X(op_copy_time, float, "share", "operator time", "no operator time",                 \
    "own time of copies and casts")                                                    \
  X(op_ratio_median, float, "log2 ratio", "median of its name", "no operator",         \
    "length of operators")                                                             \
  X(op_ratio_p90, float, "log2 ratio", "median of its name", "no operator",            \
    "the same, 90th percentile")                                                       \
  X(op_gap_median, float, "log2 ratio", "launch cost",                                 \
    "no operator, or no launch cost", "from what came before under the same parent")   \
  X(depth_mean, float, "log2 count", "", "no host event",                              \
    "operators and ranges around a host event")                                        \
  X(op_names, float, "share", "operators", "no operator", "names that differ")

/// All of them, in the order of the columns; the shares by cause follow.
#define TTA_FEATURES(X) \
  TTA_WINDOW_SHAPE(X)   \
  TTA_WINDOW_DEVICE(X)  \
  TTA_WINDOW_QUEUE(X)   \
  TTA_WINDOW_COPIES(X)  \
  TTA_WINDOW_KERNELS(X) \
  TTA_WINDOW_HOST(X)    \
  TTA_WINDOW_OPERATORS(X)

// SPDX-License-Identifier: BSD-3-Clause
// features/window_columns.h: the one table of window statistics.
//
// Simulated and real traces differ in rates (launches per ms) far more than in shares,
// so that whatever can be is a share of something of the same window, or a ratio to
// what is usual in the same trace: then the hardware cancels out too.
//
// Units: "share" is 0 to 1; "log2 ratio" is log2((1 + a) / (1 + b)) of nanoseconds a
// and b, 0 where they are equal; "log2 count" and the like are log2(1 + n). The launch
// cost is the trace's median launch call, see features/usual.h.
#pragma once

// name, unit, what it is divided by, when it is NaN ("": never), what it is
#define TTA_WINDOW_SHAPE(X)                                                            \
  X(length_ratio, "log2 ratio", "median window of the trace", "", "its length")        \
  X(events, "log2 count", "", "", "operators, ranges, calls and work that start here") \
  X(work_share, "share", "events", "no device", "events that are device work")         \
  X(share_of_step, "share", "its step", "in no step", "length of the window")          \
  X(place_in_step, "share", "its step", "in no step", "where its middle lies")         \
  X(new_names, "share", "events", "", "events of a name the trace had not had before") \
  X(repeats, "share", "events", "",                                                    \
    "events that repeat the one before, subtree and all")

#define TTA_WINDOW_DEVICE(X)                                                          \
  X(busy, "share", "window", "no device", "the device ran something")                 \
  X(idle_tiny, "share", "window", "no device", "in gaps under a launch cost")         \
  X(idle_short, "share", "window", "no device", "in gaps of 1 to 4 launch costs")     \
  X(idle_medium, "share", "window", "no device", "in gaps of 4 to 32 launch costs")   \
  X(idle_long, "share", "window", "no device", "in gaps of 32 launch costs and more") \
  X(gaps_per_work, "share", "work", "no work", "work that found the device idle")     \
  X(gap_median, "log2 ratio", "launch cost", "no gap", "gaps that touch the window")  \
  X(gap_longest, "log2 ratio", "launch cost", "no gap", "the longest of them")        \
  X(communication, "share", "window", "no device", "a collective's kernel ran")       \
  X(communication_exposed, "share", "window", "no device",                            \
    "it ran, and none computed")                                                      \
  X(copying_exposed, "share", "window", "no device",                                  \
    "a copy ran, and no kernel computed")                                             \
  X(overlap, "share", "device time", "no device time",                                \
    "more than one piece of work ran")

#define TTA_WINDOW_QUEUE(X)                                                           \
  X(launch_unknown, "share", "work", "no work", "work without a known launch")        \
  X(launch_delay_median, "log2 ratio", "launch cost", "no launch known",              \
    "end of the call to start of the work")                                           \
  X(launch_delay_p90, "log2 ratio", "launch cost", "no launch known",                 \
    "the same, nine tenths are shorter")                                              \
  X(queued, "share", "window", "no device", "launched work was waiting")              \
  X(queued_ahead, "share", "window", "no device",                                     \
    "four launches and more were waiting")                                            \
  X(queue_median, "log2 count", "", "no work", "waiting as work starts")              \
  X(launched_late, "share", "work of known launch", "no launch known",                \
    "the device was idle as the call was made")                                       \
  X(late, "share", "window", "no device",                                             \
    "idle before the call that ended the gap was made")                               \
  X(late_of_idle, "share", "idle time", "never idle", "late")                         \
  X(delivery, "share", "window", "no device", "idle after that call was made")        \
  X(late_in_wait, "share", "window", "no device",                                     \
    "late, its thread waited for a device")                                           \
  X(late_in_operators, "share", "window", "no device",                                \
    "late, its thread was in operators")                                              \
  X(late_in_calls, "share", "window", "no device",                                    \
    "late, its thread was in other runtime calls")                                    \
  X(late_in_memory, "share", "window", "no device",                                   \
    "late, its thread took or gave back memory")                                      \
  X(late_in_python, "share", "window", "no device",                                   \
    "late, its thread was in Python, or in nothing recorded")                         \
  X(late_in_loader, "share", "window", "no device",                                   \
    "late, its thread waited for the data loader")                                    \
  X(late_in_compile, "share", "window", "no device",                                  \
    "late, its thread compiled or loaded code")                                       \
  X(late_in_gc, "share", "window", "no device", "late, its thread collected garbage") \
  X(late_after_wait, "share", "window", "no device",                                  \
    "idle in gaps in or before which the launching thread ended a wait")

#define TTA_WINDOW_COPIES(X)                                                    \
  X(copies, "share", "work", "no work", "copies of any direction")              \
  X(to_device, "share", "copies", "no copy", "copies from the host")            \
  X(to_host, "share", "copies", "no copy", "copies to the host")                \
  X(copies_pageable, "share", "copies with the host", "no such copy",           \
    "from or to pageable memory")                                               \
  X(copies_pinned, "share", "copies with the host", "no such copy",             \
    "from or to pinned memory")                                                 \
  X(copies_blocking, "share", "copies with the host", "no such copy",           \
    "whose call waited")                                                        \
  X(copies_small, "share", "copies that tell bytes", "none tells",              \
    "of less than 64 KiB")                                                      \
  X(copy_bytes, "log2 bytes", "", "none tells", "of all copies together")       \
  X(copy_time, "share", "device time", "no device time", "copies, memsets not") \
  X(memsets, "share", "work", "no work", "memsets")

#define TTA_WINDOW_KERNELS(X)                                                         \
  X(kernel_ratio_median, "log2 ratio", "median of its name", "no kernel",             \
    "length of kernels")                                                              \
  X(kernel_ratio_p90, "log2 ratio", "median of its name", "no kernel",                \
    "the same, nine tenths are shorter")                                              \
  X(kernel_median, "log2 ratio", "launch cost", "no kernel", "length of kernels")     \
  X(kernels_short_time, "share", "kernel time", "no kernel time",                     \
    "in kernels shorter than the launch cost")                                        \
  X(kernel_names, "share", "kernels", "no kernel", "names that differ")               \
  X(kernel_largest, "share", "kernel time", "no kernel time",                         \
    "of the name that takes most")                                                    \
  X(kernels_matrix, "share", "kernel time", "no kernel time",                         \
    "products, convolutions, attention")                                              \
  X(kernels_elementwise, "share", "kernel time", "no kernel time", "elementwise")     \
  X(kernels_in_graph, "share", "kernels", "no kernel", "replayed by a graph")         \
  X(grids_small, "share", "kernel time of known grid", "no grid known",               \
    "of kernels with fewer blocks than the device has multiprocessors")               \
  X(occupancy, "share", "", "none is given", "estimated occupancy, weighted by time") \
  X(work_per_launch, "log2 count", "", "no launch known", "work for each launch call")

#define TTA_WINDOW_HOST(X)                                                             \
  X(threads_active, "log2 count", "", "", "threads in anything but waits, on average") \
  X(operators_busy, "share", "window", "", "a thread was in an operator")              \
  X(in_operators, "share", "host time", "no host time",                                \
    "in operators, their runtime calls apart")                                         \
  X(in_launches, "share", "host time", "no host time",                                 \
    "in calls that launch kernels or graphs")                                          \
  X(in_calls, "share", "host time", "no host time",                                    \
    "in other calls, waits and memory apart")                                          \
  X(in_memory, "share", "host time", "no host time",                                   \
    "in calls that take or give back memory")                                          \
  X(in_waits, "share", "host time", "no host time", "in calls that wait for a device") \
  X(in_python, "share", "host time", "no host time",                                   \
    "in Python frames and ranges alone")                                               \
  X(in_loader, "share", "host time", "no host time", "in the data loader's marks")     \
  X(in_compile, "share", "host time", "no host time", "compiling, or loading code")    \
  X(in_collectives, "share", "host time", "no host time",                              \
    "in collectives of CPU tensors")                                                   \
  X(in_gc, "share", "host time", "no host time", "in the garbage collector")           \
  X(in_optimizer, "share", "window", "", "a thread was in an optimizer's mark")        \
  X(waiting, "share", "window", "", "a thread waited for a device")                    \
  X(waiting_idle, "share", "window", "no device",                                      \
    "a thread waited, and the device was idle")                                        \
  X(wait_longest, "log2 ratio", "launch cost", "no wait",                              \
    "the longest wait that begins here")                                               \
  X(waits, "share", "host events", "no host event", "calls that wait")                 \
  X(launch_p90, "log2 ratio", "launch cost", "no launch", "length of launch calls")

#define TTA_WINDOW_OPERATORS(X)                                                        \
  X(operators, "share", "host events", "no host event", "operators")                   \
  X(views, "share", "operators", "no operator", "views, and aten::empty and its like") \
  X(elementwise, "share", "operators", "no operator", "elementwise arithmetic")        \
  X(matrix, "share", "operators", "no operator", "products, convolutions, attention")  \
  X(reductions, "share", "operators", "no operator",                                   \
    "reductions, norms, softmax, pools")                                               \
  X(indexing, "share", "operators", "no operator", "index, gather, embedding, cat")    \
  X(op_copies, "share", "operators", "no operator", "copies and casts")                \
  X(fills, "share", "operators", "no operator", "zeros and fills")                     \
  X(reads, "share", "operators", "no operator", "values or shapes read by the host")   \
  X(optimizer, "share", "operators", "no operator",                                    \
    "foreach and fused optimizers, optimizer marks")                                   \
  X(collectives, "share", "operators", "no operator", "collectives")                   \
  X(backward, "share", "operators", "no operator", "nodes of the backward graph")      \
  X(compiled, "share", "operators", "no operator", "of torch.compile")                 \
  X(quantized, "share", "operators", "no operator", "quantize and dequantize")         \
  X(matrix_time, "share", "operator time", "no operator time",                         \
    "own time of products, convolutions, attention")                                   \
  X(elementwise_time, "share", "operator time", "no operator time",                    \
    "own time of elementwise operators")                                               \
  X(op_copy_time, "share", "operator time", "no operator time",                        \
    "own time of copies and casts")                                                    \
  X(op_ratio_median, "log2 ratio", "median of its name", "no operator",                \
    "length of operators")                                                             \
  X(op_ratio_p90, "log2 ratio", "median of its name", "no operator",                   \
    "the same, nine tenths are shorter")                                               \
  X(op_gap_median, "log2 ratio", "launch cost", "no operator",                         \
    "from what came before under the same parent")                                     \
  X(depth_mean, "log2 count", "", "no host event",                                     \
    "operators and ranges around a host event")                                        \
  X(op_names, "share", "operators", "no operator", "names that differ")

/// All of them, in the order of the columns; the shares by cause follow.
#define TTA_FEATURES(X) \
  TTA_WINDOW_SHAPE(X)   \
  TTA_WINDOW_DEVICE(X)  \
  TTA_WINDOW_QUEUE(X)   \
  TTA_WINDOW_COPIES(X)  \
  TTA_WINDOW_KERNELS(X) \
  TTA_WINDOW_HOST(X)    \
  TTA_WINDOW_OPERATORS(X)

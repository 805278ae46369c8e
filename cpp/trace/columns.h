// SPDX-License-Identifier: BSD-3-Clause
// trace/columns.h: the one table of columns; an event is a row number in all of them.
//
// Rows are the elements of traceEvents that are objects with a string `ph`: in file
// order as loaded, in order of time once trace/order.h has sorted them. Row numbers are
// 32 bits wide: a trace of more than 4.2 billion events is refused.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

namespace tta::trace {

// The one table of event categories, 2021 to 2026.  Kineto names them in
// libkineto/include/ActivityType.h; the title-case names are those of torch 1.8-1.9.
// What an event *is* (host or device, work or marker) is decided here once, so that
// nothing downstream compares category names.

/// Where an event of a category happens.
enum class Side : std::uint8_t {
  kHost,    ///< On a CPU thread.
  kDevice,  ///< On a device stream.
  kNone,    ///< Flow arrows, profiler markers, anything that takes no one's time.
};

// id, Kineto's name today, side, occupies the device, launches or waits (runtime API)
#define TTA_CATEGORIES(X)                                             \
  X(kUnknown, "unknown", kNone, false, false)                         \
  X(kCpuOp, "cpu_op", kHost, false, false)                            \
  X(kUserAnnotation, "user_annotation", kHost, false, false)          \
  X(kPythonFunction, "python_function", kHost, false, false)          \
  X(kCudaRuntime, "cuda_runtime", kHost, false, true)                 \
  X(kCudaDriver, "cuda_driver", kHost, false, true)                   \
  X(kMtiaRuntime, "mtia_runtime", kHost, false, true)                 \
  X(kGlowRuntime, "glow_runtime", kHost, false, true)                 \
  X(kXpuRuntime, "xpu_runtime", kHost, false, true)                   \
  X(kXpuDriver, "xpu_driver", kHost, false, true)                     \
  X(kPrivateUse1Runtime, "privateuse1_runtime", kHost, false, true)   \
  X(kPrivateUse1Driver, "privateuse1_driver", kHost, false, true)     \
  X(kKernel, "kernel", kDevice, true, false)                          \
  X(kGpuMemcpy, "gpu_memcpy", kDevice, true, false)                   \
  X(kGpuMemset, "gpu_memset", kDevice, true, false)                   \
  X(kMtiaCcpEvents, "mtia_ccp_events", kDevice, true, false)          \
  X(kHpuOp, "hpu_op", kDevice, true, false)                           \
  X(kGpuUserAnnotation, "gpu_user_annotation", kDevice, false, false) \
  X(kCudaSync, "cuda_sync", kDevice, false, false)                    \
  X(kCudaProfilerRange, "cuda_profiler_range", kDevice, false, false) \
  X(kMtiaInsight, "mtia_insight", kDevice, false, false)              \
  X(kGraphEventNode, "graph_event_node", kDevice, false, false)       \
  X(kGraphHostNode, "graph_host_node", kDevice, false, false)         \
  X(kOverhead, "overhead", kHost, false, false)                       \
  X(kCpuInstantEvent, "cpu_instant_event", kHost, false, false)       \
  X(kTrace, "Trace", kNone, false, false)                             \
  X(kAc2g, "ac2g", kNone, false, false)                               \
  X(kFwdBwd, "fwdbwd", kNone, false, false)

enum class Category : std::uint8_t {
#define TTA_ID(id, name, side, work, api) id,
  TTA_CATEGORIES(TTA_ID)
#undef TTA_ID
};

struct CategoryInfo {
  Category id;
  std::string_view name;  ///< Kineto's name today.
  Side side;
  bool device_work;  ///< The device is busy while such an event lasts.
  bool runtime_api;  ///< A call into CUDA, HIP or their like on a CPU thread.
};

inline constexpr std::array kCategories = {
#define TTA_INFO(id, name, side, work, api) \
  CategoryInfo{Category::id, name, Side::side, work, api},
    TTA_CATEGORIES(TTA_INFO)
#undef TTA_INFO
};

constexpr const CategoryInfo& info(Category c) {
  return kCategories[static_cast<std::size_t>(c)];
}

/// Names a category had in other years, and what they are called today.
struct CategoryAlias {
  std::string_view name;
  Category id;
};
inline constexpr std::array kCategoryAliases = {
    CategoryAlias{"Operator", Category::kCpuOp},
    CategoryAlias{"CPU functions", Category::kCpuOp},
    CategoryAlias{"Runtime", Category::kCudaRuntime},
    CategoryAlias{"Kernel", Category::kKernel},
    CategoryAlias{"Memcpy", Category::kGpuMemcpy},
    CategoryAlias{"Memset", Category::kGpuMemset},
    CategoryAlias{"Python", Category::kPythonFunction},
    CategoryAlias{"async", Category::kAc2g},
    CategoryAlias{"async_gpu", Category::kAc2g},
    CategoryAlias{"async_cpu_to_gpu", Category::kAc2g},
    CategoryAlias{"forward_backward", Category::kFwdBwd},
};

/// Returns the category of a `cat` value, kUnknown if it is not in the table.
Category category_of(std::string_view name);

/// A time or duration the event does not have (absent, null, not a number, too large).
inline constexpr std::int64_t kNoTime = std::numeric_limits<std::int64_t>::min();
/// Times and lengths from here on, of either sign, are invalid: 2^61 ns is the year
/// 2043. Below it no sum or difference that an analysis takes can overflow.
inline constexpr std::int64_t kTimeLimit = std::int64_t{1} << 61;
/// An id, device or stream the event does not have.
inline constexpr std::int64_t kNoId = -1;
/// Added to a StringPool id to make a pid or tid of a text such as "stream 7". Real
/// process, thread and queue numbers are below it (queue pointers take 48 bits).
inline constexpr std::int64_t kTextIdentity = std::int64_t{1} << 62;

// name, type, what a row holds
#define TTA_COLUMNS(X)                                                               \
  X(name, std::uint32_t, "id of the name in Trace::strings; 0 is the empty name")    \
  X(category, std::uint8_t, "trace::Category")                                       \
  X(phase, char, "the Chrome phase letter: X, i, M, s, f, ...")                      \
  X(ts, std::int64_t, "start in nanoseconds, exact from the text; kNoTime if none")  \
  X(dur, std::int64_t, "nanoseconds, may be negative in the file; kNoTime if none")  \
  X(pid, std::int64_t, "number, or kTextIdentity + string id")                       \
  X(tid, std::int64_t, "number, or kTextIdentity + string id")                       \
  X(device, std::int32_t, "args.device, else pid of a device row; -1 on the host")   \
  X(stream, std::int64_t, "args.stream, else tid of a device row; -1 on the host")   \
  X(correlation, std::int64_t, "args.correlation; id of a flow event; -1 if none")   \
  X(external_id, std::int64_t, "args.'External id', any spelling; -1 if none")       \
  X(python_id, std::int64_t, "args.'Python id'; -1 if none")                         \
  X(python_parent_id, std::int64_t, "args.'Python parent id'; -1 if none")           \
  X(sequence, std::int64_t, "args.'Sequence number' of autograd; -1 if none")        \
  X(args_offset, std::uint64_t, "where args start in the JSON text; else the event") \
  X(args_length, std::uint32_t, "its length in bytes; 0 if the event has no args")

/// Parallel vectors, all of the same length.
struct Columns {
#define TTA_COLUMN(name, type, doc) std::vector<type> name;
  TTA_COLUMNS(TTA_COLUMN)
#undef TTA_COLUMN

  std::size_t size() const { return ts.size(); }
  /// Empties all columns; their memory stays.
  void clear() {
#define TTA_CLEAR(name, type, doc) name.clear();
    TTA_COLUMNS(TTA_CLEAR)
#undef TTA_CLEAR
  }
  Category cat(std::uint32_t row) const { return static_cast<Category>(category[row]); }
  const CategoryInfo& cat_info(std::uint32_t row) const { return info(cat(row)); }

  /// Tells whether a row takes a known stretch of time: phase X, `ts` and `dur` below
  /// kTimeLimit, `dur` not negative.
  bool timed(std::uint32_t row) const {
    return phase[row] == 'X' && ts[row] > -kTimeLimit && ts[row] < kTimeLimit &&
           dur[row] >= 0 && dur[row] < kTimeLimit;
  }
  /// Returns ts + dur of a timed row.
  std::int64_t end(std::uint32_t row) const { return ts[row] + dur[row]; }
};

}  // namespace tta::trace

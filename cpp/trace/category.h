// SPDX-License-Identifier: BSD-3-Clause
// trace/category.h: the one table of event categories, 2021 to 2026.
//
// Kineto names them in libkineto/include/ActivityType.h; the title-case names are
// those of torch 1.8-1.9. What an event *is* (host or device, work or marker) is
// decided here once, so that nothing downstream compares category names.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tta::trace {

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

/// Returns the category of a `cat` value, kUnknown if the table has none.
Category category_of(std::string_view name);

}  // namespace tta::trace

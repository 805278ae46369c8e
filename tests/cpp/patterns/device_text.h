// SPDX-License-Identifier: BSD-3-Clause
// patterns/device_text.h: traces of kernels that say how they used a known device.
#pragma once

#include <string>

#include "support/trace_text.h"

namespace tta::patterns {

/// A device of 80 multiprocessors, 2048 threads, 65536 registers and 96 KiB each.
inline std::string device_header(const std::string& name = "Tesla V100-SXM2-16GB",
                                 int major = 7, int minor = 0, int warp = 32) {
  return "\"deviceProperties\": [{\"id\": 0, \"name\": \"" + name +
         "\", \"computeMajor\": " + std::to_string(major) +
         ", \"computeMinor\": " + std::to_string(minor) +
         ", \"numSms\": 80, \"warpSize\": " + std::to_string(warp) +
         ", \"maxThreadsPerMultiprocessor\": 2048, \"regsPerMultiprocessor\": 65536, "
         "\"sharedMemPerMultiprocessor\": 98304}]";
}

/// Kernels launched long before they run, so that the device is the limit. Times are
/// microseconds; the first starts at 1000.
class KernelText {
 public:
  explicit KernelText(const std::string& header = device_header()) {
    if (!header.empty()) text.header(header);
  }

  /// Adds a kernel right after the one before; `args` begins with a comma.
  KernelText& kernel(const std::string& name, double dur, const std::string& args,
                     int stream = 7) {
    ++correlation;
    text.call("cudaLaunchKernel", launch, 5, correlation)
        .device_work("kernel", name, at, dur, correlation, args, stream, 0);
    launch += 6;
    at += dur;
    return *this;
  }
  /// Adds a kernel and the operator that launched it.
  KernelText& op(const std::string& op_name, const std::string& op_args,
                 const std::string& name, double dur) {
    text.op(op_name, launch - 0.2, 5.6, op_args);
    return kernel(name, dur, "");
  }
  /// Has the host wait for the last kernel, which then counts as well.
  KernelText& wait() {
    text.call("cudaDeviceSynchronize", launch, at - launch + 1, ++correlation);
    return *this;
  }

  operator const test::TraceText&() const { return text; }

  test::TraceText text;
  double launch = 0, at = 1000;
  int correlation = 0;
};

/// The args of a kernel: its grid and what a block takes.
inline std::string shape(int blocks, int threads = 256, int registers = 32,
                         int shared = 0) {
  return ", \"grid\": [" + std::to_string(blocks) + ", 1, 1], \"block\": [" +
         std::to_string(threads) +
         ", 1, 1], \"registers per thread\": " + std::to_string(registers) +
         ", \"shared memory\": " + std::to_string(shared);
}

}  // namespace tta::patterns

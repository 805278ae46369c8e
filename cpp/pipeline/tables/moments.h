// SPDX-License-Identifier: BSD-3-Clause
// pipeline/tables/moments.h: what a thread is in while an event is its innermost one.
#pragma once

#include <cstdint>
#include <vector>

#include "timeline/timeline.h"

namespace tta::pipeline {

/// From kLoader on, whatever runs inside is the same.
enum class In : std::uint8_t {
  kNothing,         ///< In no event, or in a step's mark alone.
  kPython,          ///< A Python frame, or a range of the program.
  kCall,            ///< A runtime call outside of operators.
  kOperator,        ///< An operator, with what it calls.
  kWaitsForDevice,  ///< A call that waits for a device, see timeline/host_calls.h.
  kWaits,           ///< A builtin that waits for a lock, a file, a process, or sleeps.
  kProfiler,        ///< The profiler's own work.
  kLoader,          ///< The data loader's mark.
  kCompile,         ///< torch.compile or Triton compiling.
  kCollective,      ///< Waiting for a collective of CPU tensors, or carrying it out.
};

/// Returns it for each row on a thread; kNothing for all others. Linear in the rows and
/// the names.
std::vector<In> classify_moments(const timeline::Timeline& timeline);

}  // namespace tta::pipeline

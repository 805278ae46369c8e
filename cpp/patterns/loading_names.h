// SPDX-License-Identifier: BSD-3-Clause
// patterns/loading_names.h: which events compile, load or set up code, by their names.
#pragma once

#include <cstdint>
#include <string_view>

namespace tta::patterns {

/// What a name tells of the events that bear it.
enum class Says : std::uint8_t {
  kNothing,
  kLoads,     ///< A runtime call that loads device code.
  kMemory,    ///< Takes or gives back the driver's memory, see memory_call().
  kInOrder,   ///< Waits for the device, or queues behind it: its length is not its own.
  kSetsUp,    ///< Any other call of CUDA or HIP: long only if it is the first.
  kLazyLoad,  ///< CUPTI's record of a function that was loaded on first use.
  kCompiles,  ///< torch.compile or Triton compiling.
  kRuns,      ///< What torch.compile made runs: "Torch-Compiled Region: 3/1".
  kImports,   ///< Python importing a module.
};

/// Classifies a name, of whatever category: an operator has no name of a driver's.
Says says(std::string_view name);

}  // namespace tta::patterns

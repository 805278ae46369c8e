// SPDX-License-Identifier: BSD-3-Clause
// patterns/loading_names.cpp: the names, as torch, CUDA and HIP give them.
#include "patterns/loading_names.h"

#include <array>

#include "patterns/warm_up.h"
#include "timeline/by_name.h"

namespace tta::patterns {
namespace {

using timeline::contains;
using timeline::contains_any;

constexpr std::array<std::string_view, 8> kLoading = {
    "ModuleLoad",       "LibraryLoad",       "ModuleGetFunction", "LibraryGetKernel",
    "LibraryGetModule", "KernelGetFunction", "LinkAddData",       "LinkComplete"};
constexpr std::array<std::string_view, 8> kOrdered = {
    "Synchronize", "Memcpy", "Memset",      "Launch",
    "StreamWait",  "Event",  "StreamIsCap", "StreamQuery"};

}  // namespace

Says says(std::string_view name) {
  if (name.ends_with("(dynamo_timed)")) return Says::kCompiles;
  if (name.starts_with("Torch-Compiled Region: ")) return Says::kRuns;
  if (contains(name, "Lazy Function Loading")) return Says::kLazyLoad;
  if (name.starts_with("torch/_dynamo/convert_frame.py(")) {
    return name.ends_with("): _compile") ? Says::kCompiles : Says::kNothing;
  }
  if (contains(name, "triton/compiler/compiler.py(")) {
    return name.ends_with("): compile") ? Says::kCompiles : Says::kNothing;
  }
  if (name.starts_with("<frozen importlib._bootstrap>(")) {
    return name.ends_with("): _find_and_load") ? Says::kImports : Says::kNothing;
  }
  // MTIA's ranges around whole models go by the runtime's category too.
  if (!name.starts_with("cu") && !name.starts_with("hip")) return Says::kNothing;
  if (contains_any(name, kLoading)) return Says::kLoads;
  if (memory_call(name) != MemoryCall::kNone) return Says::kMemory;
  // Making an event may be the first call of all, and set up the device.
  if (contains_any(name, kOrdered) && !contains(name, "Create")) return Says::kInOrder;
  return Says::kSetsUp;
}

}  // namespace tta::patterns

// SPDX-License-Identifier: BSD-3-Clause
// patterns/facts.h: what several rules need to know, found out once an analysis.
//
// Rules do not read it themselves: launched_work(), sole_kernels(), operator_times(),
// decode_steps(), warm_up(), host_copies(), late_dispatch() and costliest_call() fill
// what is not there yet; note_sites() is for Findings::sites.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "patterns/copies.h"
#include "patterns/device_work.h"
#include "patterns/warm_up.h"
#include "work/operator_calls.h"

namespace tta::patterns {

struct DecodeSteps;  // patterns/decode_steps.h

/// Filled as rules ask, of one timeline and its args. For one thread at a time: each
/// find() has its own.
struct Facts {
  std::optional<LaunchedWork> launched;
  std::optional<SoleKernels> sole;
  std::optional<WarmUp> warm_up;
  std::shared_ptr<const work::OperatorTimes> operators;
  std::shared_ptr<const DecodeSteps> decode;
  /// Of each device that was asked about.
  std::map<const timeline::DeviceTime*, std::vector<HostCopy>> copies;
  /// Of each row, whether it launches device work or encloses what does.
  std::optional<std::vector<char>> launching;
  /// Of each row, whether it is an operator or a runtime call, or encloses one.
  std::optional<std::vector<char>> working;
  /// When each thread is on the way to a launch, by the thresholds that tell.
  std::map<std::array<std::int64_t, 3>, std::map<std::uint32_t, IntervalSet>>
      dispatching;
  /// Where each pattern occurs, as its rule noted it (note_sites).
  std::map<PatternId, std::vector<Mark>> sites;
};

}  // namespace tta::patterns

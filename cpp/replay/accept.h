// SPDX-License-Identifier: BSD-3-Clause
// replay/accept.h: the limits that a replay must keep to be reliable.
#pragma once

#include <cstdlib>
#include <string>

#include "replay/fidelity.h"

namespace tta::replay {

/// More than this a step may not be off.
inline constexpr double kMostStepError = 0.02;

inline double ratio(std::int64_t a, std::int64_t b) {
  return b == 0 ? 0 : static_cast<double>(a) / static_cast<double>(b);
}
/// As a share of what was recorded.
inline double error(const Times& t) {
  return std::abs(ratio(t.replayed - t.recorded, t.recorded));
}
std::string percent(double share);

/// Holds what was measured to the limits: fills `refusals` and `replayable`.
void accept(Fidelity& measured);

}  // namespace tta::replay

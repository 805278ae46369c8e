// SPDX-License-Identifier: BSD-3-Clause
// replay/checkpoint.h: how work that may take long is ended from outside.
#pragma once

#include <functional>

namespace tta::replay {

/// Called between parts of the work, in large traces several times a second. What it
/// throws ends the work.
using Checkpoint = std::function<void()>;

inline void go_on() {}

}  // namespace tta::replay

// SPDX-License-Identifier: BSD-3-Clause
// bindings/signals.h: lets Ctrl-C end what the core does without the interpreter's
// lock.
#pragma once

#include <pybind11/pybind11.h>

#include <chrono>

#include "replay/two_threads.h"

namespace tta::bindings {

/// Raises what a signal's handler raises. Takes the lock for it, ten times a second.
inline replay::Checkpoint heed_signals() {
  using Clock = std::chrono::steady_clock;
  return [last = Clock::now()]() mutable {
    const auto now = Clock::now();
    if (now - last < std::chrono::milliseconds(100)) return;
    last = now;
    const pybind11::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) throw pybind11::error_already_set();
  };
}

}  // namespace tta::bindings

// SPDX-License-Identifier: BSD-3-Clause
// robust/scarcity.h: a system that refuses memory or threads, on demand.
//
// A program that links scarcity.cpp has operator new and pthread_create replaced.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

namespace tta::robust {

inline constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

/// How many allocations succeed before one, and only one, fails. Below zero
/// afterwards.
extern std::atomic<std::int64_t> allocations_left;

/// While set, no thread can be started.
extern std::atomic<bool> threads_are_refused;

/// How many threads were started so far.
extern std::atomic<std::uint64_t> threads_started;

}  // namespace tta::robust

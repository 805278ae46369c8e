// SPDX-License-Identifier: BSD-3-Clause
// robust/fuzzing.h: what the libFuzzer targets share: checks that abort.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "robust/checks.h"

namespace tta::robust {

/// Checks one input; a failure is printed, and the process ends for libFuzzer to keep
/// the input.
inline void fuzz(const std::string& bytes, const Plan& plan) {
  static Counts counts;
  try {
    check(bytes, plan, counts);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fuzz: %s\n", error.what());
    std::abort();
  }
}

/// Draws the size of windows and blocks from the input itself, so that an input that
/// was kept gives the same again.
inline Plan plan_for(const std::string& bytes) {
  Plan plan = plan_of(trace::hash_bytes(bytes, 1));
  plan.recover = plan.analyze = false;
  plan.threads = 1;
  return plan;
}

inline std::string input(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace tta::robust

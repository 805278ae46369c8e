// SPDX-License-Identifier: BSD-3-Clause
// robust/checks.h: what must hold for every input, sound or not.
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>

#include "trace/trace.h"

namespace tta::robust {

/// A promise of the loader or the analysis that an input broke.
class Broken : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// What to do with one input.
struct Plan {
  trace::LoadOptions options;
  std::size_t other_window = 0;  ///< Load again with it and compare; 0: do not.
  unsigned threads = 1;          ///< If more: load again with them and compare.
  bool recover = false;          ///< Load again with `recover` and compare.
  bool analyze = false;          ///< Read all args and analyze what loads.
};

/// Draws a plan from a number: the dearer a part of it, the less often.
Plan plan_of(std::uint64_t dice);

/// What was done so far, and a digest of all outcomes in their order.
struct Counts {
  std::uint64_t inputs = 0, loaded = 0, compared = 0, threaded = 0, recovered = 0,
                analyzed = 0;
  std::map<std::string, std::uint64_t> refused;  ///< By kind.
  std::uint64_t digest = 0;
};

/// Loads the bytes as planned. Throws Broken, or whatever else came out of the loader.
void check(const std::string& bytes, const Plan& plan, Counts& counts);

}  // namespace tta::robust

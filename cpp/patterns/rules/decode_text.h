// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/decode_text.h: what the rules on decode steps have in common.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "patterns/decode_steps.h"
#include "patterns/rule.h"

namespace tta::patterns::decode {

inline constexpr std::array kThresholds = {
    Threshold{"min_share", 0.02, "share",
              "a step repeats thousands of times: 2 % of it is worth an option"}};

/// How many steps' time, or what followed it, is in a finding.
std::size_t steps_of(const Context& context, const Finding& finding);
/// "64 steps (1.2 ms each)": these, and the finding's time.
std::string each(const Context& context, const Finding& finding);

inline const std::string& engine(const Context& context) {
  return decode_steps(context).engine;
}
inline bool is_vllm(const Context& context) { return engine(context) == "vLLM"; }

}  // namespace tta::patterns::decode

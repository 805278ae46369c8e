// SPDX-License-Identifier: BSD-3-Clause
// robust/fuzz_analysis.cpp: libFuzzer target: text that loads, or of which something
// can be recovered: its args and its analysis.
#include "robust/fuzzing.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes = tta::robust::input(data, size);
  tta::robust::Plan plan = tta::robust::plan_for(bytes);
  plan.options.keep = {};
  plan.recover = plan.analyze = true;
  tta::robust::fuzz(bytes, plan);
  return 0;
}

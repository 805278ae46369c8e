// SPDX-License-Identifier: BSD-3-Clause
// robust/fuzz_recover.cpp: libFuzzer target: text, with and without recover.
#include "robust/fuzzing.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes = tta::robust::input(data, size);
  tta::robust::Plan plan = tta::robust::plan_for(bytes);
  plan.recover = true;
  tta::robust::fuzz(bytes, plan);
  return 0;
}

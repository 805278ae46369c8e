// SPDX-License-Identifier: BSD-3-Clause
// robust/fuzz_load.cpp: libFuzzer target: text, in one or two sizes of windows, now and
// then on two threads.
#include "robust/fuzzing.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes = tta::robust::input(data, size);
  tta::robust::Plan plan = tta::robust::plan_for(bytes);
  plan.threads = size % 64 == 0 ? 2 : 1;
  tta::robust::fuzz(bytes, plan);
  return 0;
}

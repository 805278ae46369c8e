// SPDX-License-Identifier: BSD-3-Clause
// robust/fuzz_gzip.cpp: libFuzzer target: compressed bytes, damaged as they stand.
//
// The input is compressed or, if it begins like gzip, taken as it is. libFuzzer cannot
// guess checksums, so it needs seeds of both kinds.
#include "robust/fuzzing.h"
#include "robust/mutation.h"
#include "robust/seeds.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string bytes = tta::robust::input(data, size);
  if (!bytes.starts_with("\x1f\x8b")) {
    tta::robust::Random random(tta::trace::hash_bytes(bytes, 2));
    bytes = tta::robust::gzip(bytes);
    if (tta::robust::draw(random, 2) == 0) tta::robust::mutate_gzip(bytes, random);
  }
  tta::robust::fuzz(bytes, tta::robust::plan_for(bytes));
  return 0;
}

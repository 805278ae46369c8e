// SPDX-License-Identifier: BSD-3-Clause
// Damaged traces: whatever loads is analyzed without a crash, and its balance closes.
//
// Found by this loop, at more iterations: a kernel of no length at the very end of the
// span swallowed the gap before it. The sanitizer build runs the same tests.
#include <gtest/gtest.h>

#include <random>

#include "pipeline/analyze.h"
#include "support/trace_text.h"
#include "trace/error.h"

namespace tta::pipeline {
namespace {

std::string sample() {
  test::TraceText text;
  text.header(R"("deviceProperties": [{"id": 0, "name": "GPU"}])")
      .note("ProfilerStep#1", 0, 900)
      .note("ProfilerStep#2", 905, 1000)
      .python("train.py(3): step", 1, 1900)
      .note("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 2, 100);
  for (int i = 0; i < 20; ++i) {
    const double at = 120 + i * 90;
    text.op("aten::add", at, 60)
        .launched(at + 5, at + 20, 30 + i, i + 1, 7 + i % 2)
        .call("cudaMemcpyAsync", at + 40, 20, 100 + i)
        .copy("Memcpy DtoH (Device -> Pageable)", at + 55, 2, 100 + i, 4);
  }
  text.kernel(1000, 300, 50, "ncclDevKernel_AllReduce", 20)
      .host("overhead", "Buffer Flush", 1950, 40, "", 0, -1);
  return text.text();
}

// One of the ways in which values of real files are odd, at a random place.
void damage(std::string& text, std::mt19937& random) {
  static constexpr const char* kValues[] = {
      "0",    "-5",    "1e300", "9223372036854775807",
      "null", "\"7\"", "[]",    "2305843009213693951"};
  static constexpr const char* kKeys[] = {
      "\"dur\": ", "\"ts\": ", "\"correlation\": ", "\"stream\": ", "\"tid\": "};
  const auto at = random() % text.size();
  if (random() % 4 == 0) {
    text[at] = static_cast<char>(text[at] ^ (1 << random() % 7));
    return;
  }
  const std::string key = kKeys[random() % std::size(kKeys)];
  const auto found = text.find(key, at);
  if (found == std::string::npos) return;
  const auto begin = found + key.size();
  const auto end = text.find_first_of(",}", begin);
  text.replace(begin, end - begin, kValues[random() % std::size(kValues)]);
}

TEST(Damage, NeverCrashesAndTheBalanceCloses) {
  const auto whole = sample();
  std::mt19937 random(20261121);
  int analyzed = 0;
  for (int i = 0; i < 3000; ++i) {
    auto text = whole;
    for (auto n = 1 + random() % 4; n > 0; --n) damage(text, random);
    try {
      const auto trace = trace::load_bytes(text);
      const auto report = analyze(trace);  // throws logic_error if it does not close
      for (const auto& row : report.windows) {
        (void)timeline::window_tree(*report.timeline, row.window);
      }
      ++analyzed;
    } catch (const trace::TraceError&) {
    }
  }
  EXPECT_GT(analyzed, 1000);  // the loop must reach the analysis to mean something
}

}  // namespace
}  // namespace tta::pipeline

// SPDX-License-Identifier: BSD-3-Clause
// Which args are kept from the load, in how many texts, and when none are.
#include "trace/args_kept.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "trace/trace.h"

namespace tta::trace {
namespace {

std::string event(const std::string& category, const std::string& args) {
  return R"({"ph":"X","cat":")" + category +
         R"(","name":"n","pid":1,"tid":1,"ts":1,"dur":1,"args":{)" + args + "}}";
}

Trace load(const std::vector<std::string>& events, const LoadOptions& options = {}) {
  std::string text = R"({"traceEvents":[)";
  for (const auto& each : events) text += each + ",\n  ";
  return load_bytes(text + event("kernel", "") + "]}", options);
}

bool kept(std::string key) {
  key = '"' + key + '"';
  key.resize(std::max<std::size_t>(8, key.size()), ':');
  return is_kept(key.data());
}

TEST(KeptArgs, AreToldByTheirKeys) {
  for (const auto key : kKeptKeys) EXPECT_TRUE(kept(std::string(key))) << key;
  for (const auto* key : {"", "g", "gri", "grids", "grit", "Grid", "graph node id",
                          "External id", "correlation", "Concrete Inputs", "Input",
                          "bytes2", "sizes", "Sequence number", "In", "queued"}) {
    EXPECT_FALSE(kept(key)) << key;
  }
}

TEST(KeptArgs, AreKeptOnceATextAndOfRowsThatMatter) {
  const auto trace = load({
      event("kernel", R"("queued":0,"grid": [1, 2, 3],"correlation":1,"block":[4])"),
      event("kernel", R"("queued":7,"grid": [1, 2, 3],"correlation":2,"block":[4])"),
      event("python_function", R"("grid":[1])"),
      event("cuda_runtime", R"("cbid":3)"),
      event("cpu_op", R"("Input Dims":[[1]],"Ev Idx":1)"),
  });
  const auto& args = trace.kept_args;
  ASSERT_TRUE(args.complete());
  EXPECT_EQ(args.rows(), (std::vector<std::uint32_t>{0, 1, 4}));
  EXPECT_EQ(args.texts(), (std::vector<std::uint32_t>{1, 1, 2}));
  EXPECT_EQ(args.text(1), R"({"grid": [1, 2, 3],"block":[4]})");
  EXPECT_EQ(args.text(2), R"({"Input Dims":[[1]]})");
}

TEST(KeptArgs, AreTheSameFromAnyNumberOfThreads) {
  std::vector<std::string> events;
  for (int i = 0; i < 4000; ++i) {
    const auto args = R"("correlation":)" + std::to_string(i) +
                      (i % 3 == 0 ? "" : R"(,"bytes":)" + std::to_string(i % 50));
    events.push_back(event("kernel", args));
  }
  LoadOptions options;
  options.threads = 1;
  const auto one = load(events, options);
  options.window_bytes = 512;
  options.block_bytes = 4096;
  options.threads = 4;
  const auto many = load(events, options);
  ASSERT_TRUE(one.kept_args.complete());
  ASSERT_TRUE(many.kept_args.complete());
  EXPECT_EQ(one.kept_args.size(), 51u);
  EXPECT_EQ(one.kept_args.rows(), many.kept_args.rows());
  ASSERT_EQ(one.kept_args.texts().size(), many.kept_args.texts().size());
  for (std::size_t i = 0; i < one.kept_args.texts().size(); ++i) {
    EXPECT_EQ(one.kept_args.text(one.kept_args.texts()[i]),
              many.kept_args.text(many.kept_args.texts()[i]));
  }
}

TEST(KeptArgs, AreGivenUpWhereLittleRepeats) {
  KeptArgs args;
  const std::string padding(1000, ' ');
  constexpr std::uint64_t kRead = 16 << 20;  // a sixteenth of it is 1 MiB
  std::uint32_t row = 0;
  while (args.complete() && row < 5000) {
    args.add(row, std::to_string(row) + padding, kRead);
    ++row;
  }
  EXPECT_FALSE(args.complete());
  EXPECT_TRUE(args.rows().empty());
  EXPECT_NEAR(row, ((1 << 20) + (64 << 10)) / 1004, 2);
}

TEST(KeptArgs, OfAFileWithBadValuesAreNotKept) {
  const auto trace = load({event("kernel", R"("grid":[1, NaN, 3])")});
  EXPECT_FALSE(trace.kept_args.complete());
  EXPECT_EQ(kept_members(R"({"a":1,"grid" : [1, null],"size":"2", "b":[2]})"),
            R"({"grid":[1, null],"size":"2"})");
  EXPECT_EQ(kept_members(R"({"a":1})"), "");
}

}  // namespace
}  // namespace tta::trace

// SPDX-License-Identifier: BSD-3-Clause
// Memory of hand-made traces: levels, allocations and their ends, retries.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "timed.h"
#include "timeline/memory.h"

namespace tta::timeline {
namespace {

using test::Timed;
using test::TraceText;

// What one "[memory]" event says.
struct Change {
  double ts;
  std::string args;
};

std::string on(const std::string& device, long long bytes, long long address = -1,
               long long total = -1) {
  std::string out = device + ", \"Bytes\": " + std::to_string(bytes);
  if (address >= 0) out += ", \"Addr\": " + std::to_string(address);
  if (total >= 0) out += ", \"Total Allocated\": " + std::to_string(total);
  return out;
}

const std::string kDevice = "\"Device Type\": 1, \"Device Id\": 0";
const std::string kOther = "\"Device Type\": 6, \"Device Id\": 3";
const std::string kHost = "\"Device Type\": 0, \"Device Id\": -1";

std::vector<DeviceMemory> memory_in(const std::vector<Change>& changes) {
  TraceText text;
  text.op("aten::mm", 0, 1'000);
  for (const auto& change : changes) text.instant("[memory]", change.ts, change.args);
  const Timed t(text);
  return memory_of(t);
}

std::vector<std::int64_t> levels(const DeviceMemory& memory) {
  std::vector<std::int64_t> out;
  for (std::size_t i = 0; i <= memory.events.size(); ++i) {
    out.push_back(memory.level(i));
  }
  return out;
}

using Levels = std::vector<std::int64_t>;

TEST(Memory, TotalsTellWhatWasThereBefore) {
  const auto found = memory_in({{1, on(kDevice, 8, 64, 108)},
                                {2, on(kDevice, -100, 32, 8)},
                                {3, on(kHost, 5, 1, 5)}});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(levels(found[0]), (Levels{100, 108, 8}));
  EXPECT_EQ(found[0].device, 0);
  EXPECT_FALSE(found[0].relative);
  EXPECT_EQ(found[1].device, -1);
}

TEST(Memory, WithoutTotalsItIsASumFromTheStart) {
  const auto found =
      memory_in({{1, on(kDevice, 8)}, {2, on(kDevice, -100)}, {3, on(kDevice, 4)}});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(levels(found[0]), (Levels{0, 8, -92, -88}));
  EXPECT_TRUE(found[0].relative);
  EXPECT_FALSE(found[0].addressed);
  EXPECT_TRUE(allocations_of(found[0]).empty());
}

TEST(Memory, DevicesAreApart) {
  const auto found = memory_in(
      {{1, on(kOther, 8)}, {2, on(kHost, 1)}, {3, on(kDevice, 4)}, {4, on(kOther, 8)}});
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].device, 0);
  EXPECT_EQ(levels(found[1]), (Levels{0, 8, 16}));
  EXPECT_EQ(found[1].device, 3);
  EXPECT_EQ(found[2].device, -1);
}

TEST(Memory, AbsurdEventsAreLeftOut) {
  const std::string huge = ", \"Bytes\": 9223372036854775807";
  const auto found = memory_in(
      {{1, kDevice + huge},
       {2, kDevice + ", \"Bytes\": -9223372036854775808"},
       {3, kDevice + ", \"Bytes\": 1e300"},
       {4, kDevice + ", \"Bytes\": \"many\""},
       {5, kDevice},
       {6, ""},
       {7, "\"Device Type\": 1, \"Device Id\": -7, \"Bytes\": 8"},
       {8, "\"Bytes\": 8"},
       {9, "\"Device Type\": 1, \"Device Id\": 9999999999, \"Bytes\": 8"},
       {10, on(kDevice, 8) + ", \"Total Allocated\": 9223372036854775807"},
       {11, on(kDevice, 8) + ", \"Total Allocated\": -5, \"Total Reserved\": null"}});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(levels(found[0]), (Levels{0, 8, 16}));
}

TEST(Memory, OfOneTimeTheOrderIsTorchs) {
  const auto at = [](long long bytes, int index) {
    return Change{5, on(kDevice, bytes) + ", \"Ev Idx\": " + std::to_string(index)};
  };
  const auto found = memory_in({at(100, 7), at(-100, 9), at(10, 5)});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(levels(found[0]), (Levels{0, 10, 110, 10}));
}

TEST(Memory, AllocationsEndWhereTheirAddressIsFreed) {
  const auto found = memory_in({{1, on(kDevice, 8, 64, 8)},
                                {2, on(kDevice, -3, 32, 5)},   // From before.
                                {3, on(kDevice, 16, 96, 21)},  // Never freed.
                                {4, on(kDevice, -8, 64, 13)},
                                {5, on(kDevice, 7, 96, 20)}});  // Its free is missing.
  ASSERT_EQ(found.size(), 1u);
  const auto made = allocations_of(found[0]);
  ASSERT_EQ(made.size(), 3u);
  EXPECT_EQ(std::pair(made[0].begin, made[0].end), std::pair(0ul, 3ul));
  EXPECT_EQ(std::pair(made[1].begin, made[1].end), std::pair(2ul, 4ul));
  EXPECT_EQ(std::pair(made[2].begin, made[2].end), std::pair(4ul, 5ul));
}

// Calls of 10 us, one after the other, in an operator unless another one begins ("|").
std::size_t retries_in(const std::vector<std::string>& calls) {
  TraceText text;
  double at = 0, begin = 0;
  for (const auto& name : calls) {
    if (name == "|") {
      text.op("aten::empty", begin, at - begin);
      begin = at;
      continue;
    }
    text.call(name, at, 10, 0);
    at += 10;
  }
  text.op("aten::empty", begin, at - begin);
  const Timed t(text);
  return find_retries(t).size();
}

TEST(Memory, ARetryGivesBackBetweenTwoTries) {
  const std::string takes = "cudaMalloc", gives = "cudaFree";
  EXPECT_EQ(retries_in({takes, gives, takes}), 1u);
  EXPECT_EQ(retries_in({"hipMalloc", "hipFree", "hipFree", "hipMalloc"}), 1u);
  EXPECT_EQ(retries_in({"cuMemCreate", "cudaDeviceSynchronize", "cuMemUnmap",
                        "cuMemRelease", "cuMemCreate", "cuMemMap"}),
            1u);
  EXPECT_EQ(retries_in({takes, gives, takes, gives, takes}), 2u);
  EXPECT_EQ(retries_in({gives, takes}), 0u);  // Or a library's own.
  EXPECT_EQ(retries_in({takes, gives}), 0u);
  EXPECT_EQ(retries_in({takes, takes}), 0u);
  EXPECT_EQ(retries_in({takes, "|", gives, "|", takes}), 0u);
  EXPECT_EQ(retries_in({takes, "cudaLaunchKernel", gives, takes}), 0u);
}

}  // namespace
}  // namespace tta::timeline

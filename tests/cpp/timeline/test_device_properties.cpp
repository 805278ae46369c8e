// SPDX-License-Identifier: BSD-3-Clause
// What the header says of devices, by every vendor's and version's keys.
#include "timeline/device_properties.h"

#include <gtest/gtest.h>

#include <string>

#include "support/trace_text.h"

namespace tta::timeline {
namespace {

std::vector<DeviceProperties> properties(const std::string& header) {
  return read_device_properties(test::TraceText().header(header).load());
}

TEST(DeviceProperties, OfNvidia) {
  const auto all = properties(R"("deviceProperties": [{
      "id": 0, "name": "NVIDIA H100 80GB HBM3", "totalGlobalMem": 85018279936,
      "computeMajor": 9, "computeMinor": 0, "maxThreadsPerMultiprocessor": 2048,
      "regsPerMultiprocessor": 65536, "warpSize": 32, "numSms": 132,
      "sharedMemPerMultiprocessor": 233472}, {"id": 1, "name": "second"}])");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].id, 0);
  EXPECT_EQ(all[0].name, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(all[0].compute_major, 9);
  EXPECT_EQ(all[0].compute_minor, 0);
  EXPECT_EQ(all[0].multiprocessors, 132);
  EXPECT_EQ(all[0].warp_size, 32);
  EXPECT_EQ(all[0].threads_per_multiprocessor, 2048);
  EXPECT_EQ(all[0].registers_per_multiprocessor, 65536);
  EXPECT_EQ(all[0].shared_memory_per_multiprocessor, 233472);
  EXPECT_EQ(all[0].memory, 85018279936);
  EXPECT_EQ(all[1].id, 1);
  EXPECT_EQ(all[1].multiprocessors, -1);
}

TEST(DeviceProperties, OfAmdAndOfEarly2021) {
  const auto amd = properties(R"("deviceProperties": [{"id": 0, "name": "",
      "warpSize": 64, "numSms": 304, "maxSharedMemoryPerMultiProcessor": 65536}])");
  EXPECT_EQ(amd.at(0).name, "");
  EXPECT_EQ(amd.at(0).warp_size, 64);
  EXPECT_EQ(amd.at(0).shared_memory_per_multiprocessor, 65536);
  const auto old = properties(R"("computeProperties": [{"id": 0, "major": 7, "minor": 0,
      "maxThreadsPerMultiProcessor": 2048, "multiProcessorCount": 80}])");
  EXPECT_EQ(old.at(0).compute_major, 7);
  EXPECT_EQ(old.at(0).compute_minor, 0);
  EXPECT_EQ(old.at(0).threads_per_multiprocessor, 2048);
  EXPECT_EQ(old.at(0).multiprocessors, 80);
}

TEST(DeviceProperties, NumbersInStringsCount) {
  const auto all = properties(R"("deviceProperties": [
      {"id": "3", "numSms": "108", "warpSize": 32.0}])");
  EXPECT_EQ(all.at(0).id, 3);
  EXPECT_EQ(all.at(0).multiprocessors, 108);
  EXPECT_EQ(all.at(0).warp_size, 32);
}

TEST(DeviceProperties, WhatCannotBeIsUnknown) {
  const auto all = properties(R"("deviceProperties": [
      {"id": 4294967296, "name": 5, "numSms": 0, "warpSize": -32,
       "maxThreadsPerMultiprocessor": 1e300, "totalGlobalMem": [1],
       "regsPerMultiprocessor": 0.5, "computeMajor": null, "computeMinor": "x"},
      {"id": -1}, {}])");
  ASSERT_EQ(all.size(), 3u);
  for (const auto& d : all) {
    EXPECT_EQ(d.id, -1);  // 2^32 is not device 0
    EXPECT_EQ(d.name, "");
    EXPECT_EQ(d.multiprocessors, -1);
    EXPECT_EQ(d.warp_size, -1);
    EXPECT_EQ(d.threads_per_multiprocessor, -1);
    EXPECT_EQ(d.memory, -1);
    EXPECT_EQ(d.registers_per_multiprocessor, -1);
    EXPECT_EQ(d.compute_major, -1);
    EXPECT_EQ(d.compute_minor, -1);
  }
}

TEST(DeviceProperties, WhatIsNoListOfObjectsHoldsNone) {
  for (const auto* value : {"[]", "{}", "null", "5", "\"[{}]\"", "[1, null, [{}]]"}) {
    EXPECT_TRUE(properties(std::string("\"deviceProperties\": ") + value).empty())
        << value;
  }
  EXPECT_TRUE(read_device_properties(test::TraceText().load()).empty());
}

}  // namespace
}  // namespace tta::timeline

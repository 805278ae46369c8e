// SPDX-License-Identifier: BSD-3-Clause
// Of a process with absurdly many devices, only the first are looked at.
#include "patterns/fed_devices.h"

#include <gtest/gtest.h>

namespace tta::patterns {
namespace {

timeline::DeviceTime device(std::int32_t number, std::int64_t pid) {
  timeline::DeviceTime out;
  out.device = number;
  out.pid = pid;
  return out;
}

TEST(FedDevices, AreAllThatAProcessMayHave) {
  timeline::Timeline t;
  for (int i = 0; i < 64; ++i) t.devices.push_back(device(i, 1));
  EXPECT_EQ(fed_devices(t).size(), 64u);
  t.devices.push_back(device(64, 1));
  const auto fed = fed_devices(t);
  ASSERT_EQ(fed.size(), 64u);
  EXPECT_EQ(fed.back(), 63u);
}

TEST(FedDevices, AreCountedAProcessAtATime) {
  timeline::Timeline t;
  for (int i = 0; i < 70; ++i) t.devices.push_back(device(i, 1));
  t.devices.push_back(device(70, 2));
  t.devices.push_back(device(71, trace::kNoId));
  const auto fed = fed_devices(t);
  ASSERT_EQ(fed.size(), 66u);
  EXPECT_EQ(fed[64], 70u);
  EXPECT_EQ(fed[65], 71u);
}

}  // namespace
}  // namespace tta::patterns

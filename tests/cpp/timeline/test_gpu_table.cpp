// SPDX-License-Identifier: BSD-3-Clause
// GPUs by the names that drivers, traces and dry runs give them.
#include <gtest/gtest.h>

#include "timeline/gpu_table.h"

namespace tta::timeline {
namespace {

double bandwidth(std::string_view device) {
  const auto* gpu = gpu_of(device);
  return gpu == nullptr ? 0 : gpu->bandwidth_gb_s;
}

TEST(GpuTable, KnowsDevicesByWholeWords) {
  EXPECT_EQ(bandwidth("NVIDIA A100-PG509-200"), 1555);
  EXPECT_EQ(bandwidth("NVIDIA A100-SXM4-40GB"), 1555);
  EXPECT_EQ(bandwidth("NVIDIA A100-SXM4-80GB"), 2039);
  EXPECT_EQ(bandwidth("NVIDIA A100 80GB PCIe"), 1935);
  EXPECT_EQ(bandwidth("NVIDIA H100 80GB HBM3"), 3350);
  EXPECT_EQ(bandwidth("NVIDIA H100 PCIe"), 2000);
  EXPECT_EQ(bandwidth("NVIDIA GH200 480GB"), 4000);
  EXPECT_EQ(bandwidth("NVIDIA GeForce RTX 4090"), 1008);
  EXPECT_EQ(bandwidth("NVIDIA GeForce RTX 4090 Laptop GPU"), 576);
  EXPECT_EQ(bandwidth("NVIDIA L40S"), 864);
  EXPECT_EQ(bandwidth("AMD Instinct MI300X"), 5300);
  EXPECT_EQ(bandwidth("NVIDIA RTX A4000"), 448);
  EXPECT_EQ(bandwidth("NVIDIA GeForce RTX 3060 Ti"), 448);
  EXPECT_EQ(bandwidth("NVIDIA GeForce RTX 3060"), 360);
  EXPECT_EQ(bandwidth("NVIDIA GeForce RTX 3060 Laptop GPU"), 0) << "another board";
  EXPECT_EQ(bandwidth("NVIDIA RTX A2000"), 0);
  EXPECT_EQ(bandwidth(""), 0);
}

// ROCm of some containers gives no name, or one for all.
TEST(GpuTable, AmdsDevicesAreKnownByUnitsAndMemory) {
  DeviceProperties device;
  device.name = "AMD Radeon Graphics";
  device.warp_size = 64;
  device.multiprocessors = 304;
  device.memory = 205'822'885'888;  // As an MI300X reports it.
  ASSERT_NE(gpu_of(&device), nullptr);
  EXPECT_EQ(gpu_of(&device)->bandwidth_gb_s, 5300);
  device.multiprocessors = 80;
  EXPECT_EQ(gpu_of(&device), nullptr);
  device = {};
  device.name = "NVIDIA H100 80GB HBM3";
  EXPECT_EQ(gpu_of(&device)->bandwidth_gb_s, 3350) << "a known name is enough";
  EXPECT_EQ(gpu_of(static_cast<const DeviceProperties*>(nullptr)), nullptr);
}

// A simulation calls its device by the short name, torch.cuda by the driver's.
TEST(GpuTable, ARowIsFoundByEachOfItsNames) {
  for (const auto& gpu : gpus()) {
    if (gpu.name.empty()) continue;
    EXPECT_EQ(gpu_of(gpu.name), &gpu) << gpu.name;
    EXPECT_EQ(gpu_of(gpu.driver_name), &gpu) << gpu.driver_name;
  }
}

TEST(GpuTable, ARowIsWholeOrHasBandwidthAndPeaksAlone) {
  for (const auto& gpu : gpus()) {
    EXPECT_GE(gpu.peak.float16, gpu.peak.float32) << gpu.words;
    EXPECT_GT(gpu.bandwidth_gb_s, 0) << gpu.words;
    const bool whole = !gpu.name.empty();
    EXPECT_EQ(whole, !gpu.driver_name.empty()) << gpu.words;
    EXPECT_EQ(whole, gpu.memory_bytes > 0 && gpu.peak.float32 > 0 &&
                         gpu.multiprocessors > 0 && gpu.clock_ghz > 0 &&
                         gpu.compute_major > 0 && gpu.l2_bytes > 0 &&
                         gpu.threads_per_multiprocessor > 0 && gpu.pcie_generation > 0)
        << gpu.words;
  }
}

TEST(GpuTable, CopiesReachWhatTheirInterfaceCarries) {
  EXPECT_EQ(pinned_copy_gb_s("Tesla V100-DGXS-32GB"), 12.5);
  EXPECT_EQ(pinned_copy_gb_s("AMD Instinct MI300X"), 50);
  EXPECT_EQ(pinned_copy_gb_s("NVIDIA GeForce RTX 4090"), -1);
  EXPECT_EQ(pinned_copy_gb_s("NVIDIA GH200 480GB"), -1);
  EXPECT_EQ(pinned_copy_gb_s(""), -1);
  for (const auto& gpu : gpus()) {
    const auto reached = pinned_copy_gb_s(gpu.driver_name);
    if (reached < 0) continue;
    EXPECT_EQ(reached, 12.5 * (1 << (gpu.pcie_generation - 3))) << gpu.name;
  }
}

}  // namespace
}  // namespace tta::timeline

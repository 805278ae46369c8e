// SPDX-License-Identifier: BSD-3-Clause
// The devices in the header, which work hides which, how far ahead the host was.
#include <gtest/gtest.h>

#include <string>

#include "support/trace_text.h"
#include "timeline/device_facts.h"
#include "timeline/device_properties.h"
#include "timeline/timed.h"

namespace tta::timeline {
namespace {

using test::Timed;
using test::TraceText;

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

std::vector<OverlapFacts> overlaps_of(const TraceText& text) {
  const auto trace = text.load();
  return overlap_facts(make_timeline(trace));
}

TEST(OverlapFacts, UnionsAndWhatTheyShare) {
  const auto facts =
      overlaps_of(TraceText()
                      .kernel(0, 100, 1)
                      .kernel(50, 100, 2, "gemm", 8)  // together 0 to 150
                      .kernel(120, 80, 3, "ncclDevKernel_AllReduce", 9)
                      .kernel(180, 40, 4, "ncclKernel_AllGather", 10)
                      .copy("Memcpy HtoD", 140, 70, 5, 1000));
  ASSERT_EQ(facts.size(), 1u);
  EXPECT_EQ(facts[0].device, 0);
  EXPECT_EQ(facts[0].compute_ns, 150'000);
  EXPECT_EQ(facts[0].comm_ns, 100'000);        // 120 to 220
  EXPECT_EQ(facts[0].copy_ns, 70'000);         // 140 to 210
  EXPECT_EQ(facts[0].comm_hidden_ns, 30'000);  // 120 to 150
  EXPECT_EQ(facts[0].copy_hidden_ns, 10'000);  // 140 to 150
}

TEST(OverlapFacts, AMemsetIsNoCopyAndADeviceHidesOnlyItsOwn) {
  const auto facts =
      overlaps_of(TraceText()
                      .device_work("gpu_memset", "Memset (Device)", 0, 10, 1, "", 7, 0)
                      .kernel(0, 100, 2, "gemm", 7, 1)
                      .kernel(0, 50, 3, "ncclDevKernel_AllReduce", 8, 0));
  ASSERT_EQ(facts.size(), 2u);
  EXPECT_EQ(facts[0].compute_ns, 0);
  EXPECT_EQ(facts[0].copy_ns, 0);
  EXPECT_EQ(facts[0].comm_ns, 50'000);
  EXPECT_EQ(facts[0].comm_hidden_ns, 0);
  EXPECT_EQ(facts[1].device, 1);
  EXPECT_EQ(facts[1].compute_ns, 100'000);
  EXPECT_EQ(facts[1].comm_hidden_ns, 0);
}

TEST(OverlapFacts, WorkThatOnlyTouchesIsNotHidden) {
  const auto facts = overlaps_of(TraceText()
                                     .kernel(0, 100, 1)
                                     .kernel(100, 50, 2, "ncclDevKernel_AllReduce", 8)
                                     .kernel(150, 50, 3));
  ASSERT_EQ(facts.size(), 1u);
  EXPECT_EQ(facts[0].comm_hidden_ns, 0);
  EXPECT_EQ(facts[0].compute_ns, 150'000);
}

TEST(OverlapFacts, NoneWithoutADevice) {
  EXPECT_TRUE(overlaps_of(TraceText().op("aten::mm", 0, 100)).empty());
}

QueueFacts queue_of(const TraceText& text) {
  const auto trace = text.load();
  return queue_facts(make_timeline(trace)).at(0);
}

TEST(QueueFacts, CountsLaunchesFromTheCallsEndToTheStart) {
  // Calls return at 5, 11, 17; the work starts at 100, 200, 300 and ends at 400.
  const auto facts = queue_of(TraceText()
                                  .launched(0, 100, 100, 1)
                                  .launched(6, 200, 100, 2)
                                  .launched(12, 300, 100, 3));
  EXPECT_EQ(facts.max_depth, 3);
  EXPECT_DOUBLE_EQ(facts.queued_share, 295.0 / 400);
  EXPECT_DOUBLE_EQ(facts.ahead_share, 0);
  EXPECT_DOUBLE_EQ(facts.device_limit_share, 295.0 / 400);
  EXPECT_EQ(facts.slow_calls, 0u);
}

TEST(QueueFacts, FourWaitingIsAhead) {
  TraceText text;
  for (int i = 0; i < 5; ++i) text.launched(i * 6, 100 + i * 100, 100, i + 1);
  const auto facts = queue_of(text);
  EXPECT_EQ(facts.max_depth, 5);
  // The fourth returns at 23; at 200 three are left.
  EXPECT_DOUBLE_EQ(facts.ahead_share, 177.0 / 600);
}

TEST(QueueFacts, AGraphIsOneLaunch) {
  TraceText text;
  text.call("cudaGraphLaunch", 0, 10, 1);
  for (int i = 0; i < 50; ++i) text.kernel(20 + i * 10, 10, 1);
  const auto facts = queue_of(text);
  EXPECT_EQ(facts.max_depth, 1);
  EXPECT_DOUBLE_EQ(facts.queued_share, 10.0 / 520);
  // Its kernels wait for each other all the same: the device is the limit.
  EXPECT_DOUBLE_EQ(facts.device_limit_share, 500.0 / 520);
}

TEST(QueueFacts, EachStreamHasItsOwnQueue) {
  TraceText text;
  for (int i = 0; i < 3; ++i) {
    text.launched(i * 20, 100 + i * 100, 100, i * 2 + 1, 7)
        .launched(i * 20 + 6, 100 + i * 100, 100, i * 2 + 2, 8);
  }
  EXPECT_EQ(queue_of(text).max_depth, 3);
}

// `n` launches that wait, then one whose call takes `dur`.
QueueFacts after(int n, double dur) {
  TraceText text;
  const double start = (n + 1) * 6 + 1000;
  for (int i = 0; i < n; ++i) text.launched(i * 6, start + i * 10, 10, i + 1);
  return queue_of(text.call("cudaLaunchKernel", n * 6, dur, n + 1)
                      .kernel(start + n * 10, 10, n + 1));
}

TEST(QueueFacts, SlowCallsCountWhereTheQueueIsDeep) {
  EXPECT_EQ(after(512, 50.1).slow_calls, 1u);
  EXPECT_EQ(after(512, 50.1).slow_calls_ns, 50'100);
  EXPECT_EQ(after(511, 50.1).slow_calls, 0u);
  EXPECT_EQ(after(512, 50).slow_calls, 0u);
}

TEST(QueueFacts, AThousandAreFull) {
  EXPECT_GT(after(1000, 5).full_share, 0);
  EXPECT_EQ(after(998, 5).full_share, 0);
}

TEST(QueueFacts, AWaitingHostMakesTheDeviceTheLimit) {
  const auto text = TraceText()
                        .launched(0, 10, 200, 1)
                        .call("cudaStreamSynchronize", 50, 165, 2)
                        .launched(300, 310, 100, 3);
  const Timed t(text);
  const auto limits = DeviceLimits(t).of(0);
  EXPECT_EQ(limits,
            (IntervalSet{{5'000, 10'000}, {50'000, 215'000}, {305'000, 310'000}}));
  EXPECT_TRUE(host_is_ahead(limits, {60'000, 215'000}));
  EXPECT_FALSE(host_is_ahead(limits, {49'000, 60'000}));
  EXPECT_FALSE(host_is_ahead(limits, {60'000, 60'000}));
  EXPECT_EQ(host_lead(limits, 210'000), 160'000);
  EXPECT_EQ(host_lead(limits, 310'000), 5'000);  // up to the very end
  EXPECT_EQ(host_lead(limits, 50'000), 0);
  EXPECT_EQ(host_lead(limits, 410'000), 0);
}

TEST(QueueFacts, AWaitThatNoWorkOfTheDeviceEndsInIsForSomethingElse) {
  const auto text = TraceText()
                        .launched(0, 10, 20, 1)
                        .call("cudaStreamSynchronize", 50, 165, 2)
                        .launched(300, 310, 100, 3);
  const Timed t(text);
  EXPECT_EQ(DeviceLimits(t).of(0), (IntervalSet{{5'000, 10'000}, {305'000, 310'000}}));
}

TEST(QueueFacts, UnknownLaunchesAreNotWaiting) {
  const auto facts = queue_of(TraceText().kernel(10, 10, 1).kernel(30, 10, 2));
  EXPECT_EQ(facts.max_depth, 0);
  EXPECT_EQ(facts.device_limit_share, 0);
}

}  // namespace
}  // namespace tta::timeline

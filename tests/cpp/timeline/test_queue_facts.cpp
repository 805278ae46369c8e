// SPDX-License-Identifier: BSD-3-Clause
// How far ahead the host was, on hand-worked traces.
#include <gtest/gtest.h>

#include "support/trace_text.h"
#include "timeline/queue_facts.h"

namespace tta::timeline {
namespace {

using test::TraceText;

QueueFacts facts_of(const TraceText& text) {
  const auto trace = text.load();
  return queue_facts(make_timeline(trace)).at(0);
}

TEST(QueueFacts, CountsLaunchesFromTheCallsEndToTheStart) {
  // Calls return at 5, 11, 17; the work starts at 100, 200, 300 and ends at 400.
  const auto facts = facts_of(TraceText()
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
  const auto facts = facts_of(text);
  EXPECT_EQ(facts.max_depth, 5);
  // The fourth returns at 23; at 200 three are left.
  EXPECT_DOUBLE_EQ(facts.ahead_share, 177.0 / 600);
}

TEST(QueueFacts, AGraphIsOneLaunch) {
  TraceText text;
  text.call("cudaGraphLaunch", 0, 10, 1);
  for (int i = 0; i < 50; ++i) text.kernel(20 + i * 10, 10, 1);
  const auto facts = facts_of(text);
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
  EXPECT_EQ(facts_of(text).max_depth, 3);
}

// `n` launches that wait, then one whose call takes `dur`.
QueueFacts after(int n, double dur) {
  TraceText text;
  const double start = (n + 1) * 6 + 1000;
  for (int i = 0; i < n; ++i) text.launched(i * 6, start + i * 10, 10, i + 1);
  return facts_of(text.call("cudaLaunchKernel", n * 6, dur, n + 1)
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
  const auto trace = text.load();
  const auto t = make_timeline(trace);
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
  const auto trace = text.load();
  const auto t = make_timeline(trace);
  EXPECT_EQ(DeviceLimits(t).of(0), (IntervalSet{{5'000, 10'000}, {305'000, 310'000}}));
}

TEST(QueueFacts, UnknownLaunchesAreNotWaiting) {
  const auto facts = facts_of(TraceText().kernel(10, 10, 1).kernel(30, 10, 2));
  EXPECT_EQ(facts.max_depth, 0);
  EXPECT_EQ(facts.device_limit_share, 0);
}

}  // namespace
}  // namespace tta::timeline

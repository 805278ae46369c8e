// SPDX-License-Identifier: BSD-3-Clause
// Which of a thread's time a graph would take away, and what is left to Python.
#include "patterns/launch_sites.h"

#include "patterns/found.h"

namespace tta::patterns {
namespace {

// The sites of a pattern: "[5, 105) [205, 305)", in microseconds.
std::string sites_in(const TraceText& text, PatternId pattern) {
  const auto trace = text.load();
  const auto timeline = timeline::make_timeline(trace);
  const timeline::EventArgs args(timeline);
  Settings settings;
  settings.set("launch_bound", "min_launches", 1);
  Search search(timeline, args, settings);
  auto found = search.run();
  search.complete_sites(found);
  std::string out;
  for (const auto& site : found.sites[static_cast<std::size_t>(pattern)]) {
    const auto us = [&](std::int64_t ns) {
      return std::to_string((ns - timeline.span.begin) / 1000);
    };
    out += "[" + us(site.time.begin) + ", " + us(site.time.end) + ")";
  }
  return out;
}

TraceText launches(int count, double apart) {
  TraceText text;
  for (int i = 0; i < count; ++i) {
    text.launched(apart * i, apart * i + 8, 5, i + 1);
  }
  return text;
}

TEST(LaunchSites, AreFromOneLaunchToTheNext) {
  EXPECT_EQ(sites_in(launches(3, 40), kLaunchBound), "[0, 5)[5, 45)[45, 85)");
}

TEST(LaunchSites, LeaveOutWhatIsWaitedForReadLoadedOrTaken) {
  auto text = launches(2, 55);
  text.call("cudaStreamSynchronize", 10, 10, 90).call("cudaMalloc", 40, 10, 91);
  EXPECT_EQ(sites_in(text, kLaunchBound), "[0, 5)[5, 10)[20, 40)[50, 60)");
}

TEST(LaunchSites, LeaveOutPauses) {
  auto text = launches(12, 20);
  text.launched(600, 608, 5, 50);
  EXPECT_EQ(sites_in(text, kLaunchBound).substr(0, 14), "[0, 5)[5, 25)[");
  // From 225 on nothing is recorded; 15 us of it are a gap as any other.
  EXPECT_EQ(sites_in(text, kHostBoundPython), "[240, 600)");
  // A thread that another one may have held up says nothing.
  text.op("aten::add", 300, 100, "", 2);
  text.host("cuda_runtime", "cudaLaunchKernel", 300, 5, "\"correlation\": 60", 2)
      .kernel(320, 5, 60);
  EXPECT_EQ(sites_in(text, kHostBoundPython), "");
}

}  // namespace
}  // namespace tta::patterns

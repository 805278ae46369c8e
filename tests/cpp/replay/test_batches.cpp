// SPDX-License-Identifier: BSD-3-Clause
// Batches of worker processes: a loader that is the limit takes back what a fix of the
// rest gains, and a fix of the loader does not.
#include <gtest/gtest.h>

#include "replay/change.h"
#include "replay/gain.h"
#include "replay/samples.h"
#include "support/trace_text.h"

namespace tta::replay {
namespace {

using test::TraceText;

constexpr int kSteps = 6;
constexpr double kEach = 10'000;

struct Replayed : test::Replayed {
  explicit Replayed(const TraceText& text)
      : test::Replayed(text, test::by_constants()) {}

  // How much shorter the span is if the host takes no time for work in [from, to) us of
  // each step, or if nothing waits for batches.
  std::int64_t gain(double from, double to) const {
    Change change;
    for (int i = 0; i < kSteps; ++i) {
      const auto at = static_cast<std::int64_t>(1e3 * (kEach * i + from));
      change.hide(lane_of("work"),
                  {model.begin + at,
                   model.begin + at + static_cast<std::int64_t>(1e3 * (to - from))});
    }
    return gain(change);
  }
  std::int64_t gain_of_loader() const {
    Change change;
    for (const auto& span : timeline.spans.loader) {
      change.skip(timeline.lanes.lane[span.row], {span.begin, span.end});
    }
    return gain(change);
  }
  std::int64_t gain(const Change& change) const {
    const Pricer pricer(model);
    const auto changed = pricer.replay(change);
    EXPECT_EQ(pricer.longer_step(changed), std::nullopt);
    return pricer.unchanged().span - changed.span;
  }
};

// A batch each 10 ms: the host asks at 0 of them, has it after `waits` us (50 us where
// it waits for none), works until 9900, and launches a kernel.
TraceText training(const std::string& loader, const std::vector<double>& waits) {
  TraceText t;
  for (int i = 0; i < kSteps; ++i) {
    const auto at = kEach * i;
    t.step(i, at, kEach - 50);
    t.note("enumerate(DataLoader)#" + loader + ".__next__", at, waits[i]);
    t.op("work", at + waits[i] + 10, 9'800 - waits[i]);
    t.launched(at + 9'900, at + 9'908, 20, i + 1);
  }
  return t;
}

const std::string kWorkers = "_MultiProcessingDataLoaderIter";
const std::vector<double> kAlways(kSteps, 5'050.0);

TEST(Batches, AnUnchangedReplayIsAsRecorded) {
  const Replayed r(training(kWorkers, kAlways));
  EXPECT_EQ(r.times, r.model.recorded());
}

TEST(Batches, AFasterProgramWaitsLonger) {
  // 4 ms of each step: of the last alone is it a gain, as no batch is waited for after.
  EXPECT_EQ(Replayed(training(kWorkers, kAlways)).gain(5'200, 9'200), 4'000'000);
  EXPECT_EQ(
      Replayed(training("_SingleProcessDataLoaderIter", kAlways)).gain(5'200, 9'200),
      kSteps * 4'000'000)
      << "what the program loads itself is its own work";
}

TEST(Batches, WithoutTheLoaderNobodyWaits) {
  const Replayed r(training(kWorkers, kAlways));
  EXPECT_EQ(r.gain_of_loader(), kSteps * 5'050'000);
}

TEST(Batches, BatchesThatWereThereLimitNothing) {
  const std::vector<double> never(kSteps, 50.0);
  EXPECT_EQ(Replayed(training(kWorkers, never)).gain(1'000, 5'000), kSteps * 4'000'000);
}

TEST(Batches, FourWorkersComeTogether) {
  // Waits for the first and the fifth: the steps between are free to be faster, and the
  // fifth begins when its batch is there.
  std::vector<double> some(kSteps, 50.0);
  some[0] = some[4] = 5'050;
  EXPECT_EQ(Replayed(training(kWorkers, some)).gain(5'200, 9'200), 2 * 4'000'000);
}

TEST(Batches, AShortWaitIsTheProgramsOwn) {
  std::vector<double> hiccup(kSteps, 50.0);
  hiccup[1] = 5'050;
  hiccup[4] = 1'200;  // 1.15 of 26 ms
  EXPECT_EQ(Replayed(training(kWorkers, hiccup)).gain(5'200, 9'200),
            kSteps * 4'000'000);
}

}  // namespace
}  // namespace tta::replay

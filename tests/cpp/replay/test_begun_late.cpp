// SPDX-License-Identifier: BSD-3-Clause
// Traces that begin while the device is busy: work launched before depends on recorded
// times, and a fix of the rest gains as much as in the whole trace.
#include <gtest/gtest.h>

#include "replay/change.h"
#include "replay/gain.h"
#include "replay/samples.h"
#include "support/trace_text.h"

namespace tta::replay {
namespace {

using test::number_of;
using test::Replayed;
using test::Rows;
using test::value_of;

// What goes on after a moment of the trace's clock takes half as long on the device, or
// the host waits for nothing then.
Change faster(const Replayed& r, std::int64_t since, bool device) {
  Change out;
  for (const auto& task : r.model.tasks.all) {
    if (!device || task.begin < since) continue;
    out.shorten(task.row, {task.begin, (task.begin + task.end) / 2});
  }
  for (std::uint32_t lane = 0; lane < r.model.sequences.size(); ++lane) {
    if (!device) out.drop_waits(lane, {since, r.timeline.span.end});
  }
  return out;
}

class BegunLate : public testing::TestWithParam<const char*> {};

TEST_P(BegunLate, GainsWhatTheWholeTraceGains) {
  const auto text = test::trace_text(GetParam());
  if (!text) GTEST_SKIP() << "the public traces are not at hand";
  const Replayed whole(*text);
  // As a profiler begins: with what begins from then on.
  const auto& span = whole.timeline.span;
  const auto since = span.begin + span.length() * 2 / 5;
  Rows rows(*text);
  rows.drop([&](auto& row) {
    return value_of(row, "ph") == "X" &&
           number_of(row, "ts") < static_cast<double>(since) / 1e3;
  });
  const Replayed cut(rows.text());
  const auto f = judge(cut.model);
  EXPECT_TRUE(f.replayable) << (f.replayable ? "" : f.refusals[0].detail);
  EXPECT_GT(f.queued_before, 0u);
  for (const bool device : {true, false}) {
    const auto gain = [&](const Replayed& r) {
      const Pricer pricer(r.model);
      return static_cast<double>(pricer.unchanged().span -
                                 pricer.replay(faster(r, since, device)).span);
    };
    EXPECT_NEAR(gain(cut), gain(whole), 0.002 * static_cast<double>(f.span.recorded));
  }
}

INSTANTIATE_TEST_SUITE_P(Traces, BegunLate,
                         testing::Values("v100-ns-timestamps-rank0of1",
                                         "mi300-qwen0.5b-chat",
                                         "kineto2021-v100-resnet50-workers4",
                                         "mi300x8-resnet-ddp-rccl-rank0of8"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::erase_if(name,
                                         [](char c) { return c == '-' || c == '.'; });
                           return name;
                         });

}  // namespace
}  // namespace tta::replay

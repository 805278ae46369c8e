// SPDX-License-Identifier: BSD-3-Clause
// Blame by the launching thread: whose mark takes idle time, and whose does not.
#include "patterns/marks.h"

#include "patterns/facts.h"
#include "patterns/found.h"

namespace tta::patterns {
namespace {

// What claim_marks makes of the annotations named "mark" (sub-type 0) and "other" (1):
// "1100-1500 1500-1700.1", in us; "@1" behind what is of another device than 0, "host"
// behind host time.
std::string claimed(const TraceText& text, bool at_the_end = false) {
  const auto trace = text.load();
  const auto timeline = timeline::make_timeline(trace);
  const timeline::EventArgs args(timeline);
  const Ledger ledger(timeline);
  std::vector<Mark> marks;
  const auto& c = trace.columns;
  for (std::uint32_t row = 0; row < c.size(); ++row) {
    const bool other = trace.name(row) == "other";
    if (trace.name(row) == "mark" || other) {
      marks.push_back({{c.ts[row], c.end(row)}, row, std::uint8_t{other}});
    }
  }
  Facts facts;
  const Context context{timeline, args, ledger, Limits({}), facts};
  std::string out;
  for (const auto& claim : claim_marks(context, kGcPause, marks, at_the_end)) {
    EXPECT_EQ(claim.idle, claim.device >= 0);
    if (!out.empty()) out += " ";
    out += std::to_string(claim.begin / 1000) + "-" + std::to_string(claim.end / 1000);
    if (claim.subtype != 0) out += "." + std::to_string(claim.subtype);
    if (claim.device > 0) out += "@" + std::to_string(claim.device);
    if (claim.device < 0) out += "host";
  }
  return out;
}

// A kernel until 1,000 us, the next from 2,010 us, launched at 2,000 us for 5 us.
TraceText gap() {
  return TraceText().launched(0, 10, 990, 1).launched(2000, 2010, 90, 2);
}

// The call began 365 us before the device ran dry and took 3 ms: it loaded a module.
TraceText slow(double mark, double begin, double dur, int thread = 1) {
  return TraceText()
      .launched(0, 10, 990, 1)
      .call("cudaLaunchKernel", 635, dur, 2)
      .kernel(635 + dur + 5, 90, 2)
      .note("mark", begin, mark, thread);
}

TEST(Marks, TakeTheIdleTimeInsideThem) {
  EXPECT_EQ(claimed(gap().note("mark", 900, 400)), "1000-1300");
  // The kernel starts 5 us after its launch returned: no mark.
  EXPECT_EQ(claimed(gap().note("mark", 1500, 900)), "1500-2005");
  // Launched before the device ran dry: it waited for something else.
  EXPECT_EQ(claimed(TraceText()
                        .launched(0, 10, 990, 1)
                        .launched(500, 2010, 90, 2)
                        .note("mark", 1100, 400)),
            "");
  EXPECT_EQ(claimed(gap().note("mark", 1100, 400).note("other", 1300, 400)),
            "1100-1500 1500-1700.1");
}

TEST(Marks, TakeASlowLaunchThatWasUnderWayAlready) {
  EXPECT_EQ(claimed(slow(3000, 635, 3000)), "1000-3635");
  EXPECT_EQ(claimed(slow(3100, 600, 3000)), "1000-3635");
  // Not what only overlaps it, nor another thread's, nor an ordinary launch's.
  EXPECT_EQ(claimed(slow(500, 1500, 3000)), "");
  EXPECT_EQ(claimed(slow(3000, 635, 3000, 2)), "");
  EXPECT_EQ(claimed(slow(2000, 635, 2000)), "1000-2635");
  EXPECT_EQ(claimed(slow(1999, 635, 1999)), "");
}

TEST(Marks, OfAnotherThreadCountIfTheLauncherHadNothingToDo) {
  const auto other = gap().note("mark", 1100, 400, 2);
  EXPECT_EQ(claimed(other), "1100-1500");
  EXPECT_EQ(claimed(TraceText(other).op("aten::add", 1200, 50)), "");
  const auto process = gap().host("user_annotation", "mark", 1100, 400, "", 1, 200);
  EXPECT_EQ(claimed(process), "") << "another process's device";
}

TEST(Marks, AtTheEndOnlyWhereAsked) {
  // After the last kernel (2,100 us) nothing is launched any more.
  const auto text = gap().note("mark", 2200, 300);
  EXPECT_EQ(claimed(text), "");
  EXPECT_EQ(claimed(text, true), "2200-2500");
}

TEST(Marks, OneMarkOverSeveralGapsAndDevices) {
  // Device 0: until each launch returned; device 1: from the span's begin.
  EXPECT_EQ(claimed(gap()
                        .launched(1500, 1510, 100, 3)
                        .launched(1600, 1610, 490, 4, 7, "gemm", 1)
                        .note("mark", 0, 2500)),
            "1000-1505 1610-2005 0-1605@1");
}

TEST(Marks, WithoutADeviceTheMainThreadIsHeldUp) {
  const auto text = TraceText().op("aten::mm", 0, 500).op("aten::mm", 900, 100);
  EXPECT_EQ(claimed(TraceText(text).note("mark", 400, 300)), "400-700host");
  // A helper's mark delays nothing while the main thread computes.
  EXPECT_EQ(claimed(TraceText(text)
                        .op("aten::mm", 1000, 10)
                        .note("mark", 100, 200, 2)
                        .note("mark", 600, 200, 2)),
            "600-800host");
}

}  // namespace
}  // namespace tta::patterns

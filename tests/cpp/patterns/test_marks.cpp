// SPDX-License-Identifier: BSD-3-Clause
// Blame by the launching thread: whose mark takes idle time, and whose does not.
#include "patterns/facts.h"
#include "patterns/marks.h"

#include <gtest/gtest.h>

#include "support/trace_text.h"

namespace tta::patterns {
namespace {

using test::TraceText;

// What claim_marks makes of the annotations named "mark" (sub-type 0) and "other" (1).
struct Case {
  explicit Case(const TraceText& text)
      : trace(text.load()),
        timeline(timeline::make_timeline(trace)),
        args(timeline),
        ledger(timeline) {}

  std::vector<Claim> claims(bool at_the_end = false) const {
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
    return claim_marks(context, PatternId::kGcPause, marks, at_the_end);
  }

  trace::Trace trace;
  timeline::Timeline timeline;
  timeline::EventArgs args;
  Ledger ledger;
};

// A kernel until 1,000 us, the next from 2,010 us, launched at 2,000 us for 5 us.
TraceText gap() {
  return TraceText().launched(0, 10, 990, 1).launched(2000, 2010, 90, 2);
}

void expect_claims(const std::vector<Claim>& claims,
                   const std::vector<std::pair<int, int>>& us) {
  ASSERT_EQ(claims.size(), us.size());
  for (std::size_t i = 0; i < us.size(); ++i) {
    EXPECT_EQ(claims[i].begin, us[i].first * 1000);
    EXPECT_EQ(claims[i].end, us[i].second * 1000);
  }
}

TEST(Marks, TakeTheIdleTimeInsideThem) {
  const auto claims = Case(gap().note("mark", 900, 400)).claims();
  expect_claims(claims, {{1000, 1300}});
  EXPECT_TRUE(claims[0].idle);
  EXPECT_EQ(claims[0].device, 0);
}

TEST(Marks, EndWhenTheLaunchWasMade) {
  // The kernel starts 5 us after its launch returned: nobody's mark.
  expect_claims(Case(gap().note("mark", 1500, 900)).claims(), {{1500, 2005}});
}

TEST(Marks, AreNotToBlameIfTheLaunchWasEarly) {
  // Launched before the device ran dry: it waited for something else.
  expect_claims(Case(TraceText()
                         .launched(0, 10, 990, 1)
                         .launched(500, 2010, 90, 2)
                         .note("mark", 1100, 400))
                    .claims(),
                {});
}

TEST(Marks, TakeASlowLaunchThatWasUnderWayAlready) {
  // The call began 365 us before the device ran dry and took 3 ms: it loaded a module.
  const auto slow = [](double mark, double begin, double dur, int thread = 1) {
    return TraceText()
        .launched(0, 10, 990, 1)
        .call("cudaLaunchKernel", 635, dur, 2)
        .kernel(635 + dur + 5, 90, 2)
        .note("mark", begin, mark, thread);
  };
  expect_claims(Case(slow(3000, 635, 3000)).claims(), {{1000, 3635}});
  expect_claims(Case(slow(3100, 600, 3000)).claims(), {{1000, 3635}});
  // Not what only overlaps it, nor another thread's, nor an ordinary launch's.
  expect_claims(Case(slow(500, 1500, 3000)).claims(), {});
  expect_claims(Case(slow(3000, 635, 3000, 2)).claims(), {});
  expect_claims(Case(slow(2000, 635, 2000)).claims(), {{1000, 2635}});
  expect_claims(Case(slow(1999, 635, 1999)).claims(), {});
}

TEST(Marks, OfAnotherThreadCountIfTheLauncherHadNothingToDo) {
  const auto other = gap().note("mark", 1100, 400, 2);
  expect_claims(Case(other).claims(), {{1100, 1500}});
  auto busy = other;
  expect_claims(Case(busy.op("aten::add", 1200, 50)).claims(), {});
}

TEST(Marks, OfAnotherProcessAreNotThisDevices) {
  expect_claims(
      Case(gap().host("user_annotation", "mark", 1100, 400, "", 1, 200)).claims(), {});
}

TEST(Marks, OverlappingOnesTakeTheTimeOnce) {
  const auto claims =
      Case(gap().note("mark", 1100, 400).note("other", 1300, 400)).claims();
  expect_claims(claims, {{1100, 1500}, {1500, 1700}});
  EXPECT_EQ(claims[1].subtype, 1);
}

TEST(Marks, AtTheEndOnlyWhereAsked) {
  // After the last kernel (2,100 us) nothing is launched any more.
  const auto text = gap().note("mark", 2200, 300);
  expect_claims(Case(text).claims(), {});
  expect_claims(Case(text).claims(true), {{2200, 2500}});
}

TEST(Marks, OneMarkOverSeveralGapsAndDevices) {
  const auto text = gap()
                        .call("cudaLaunchKernel", 1500, 5, 3)
                        .kernel(1510, 100, 3)
                        .call("cudaLaunchKernel", 1600, 5, 4)
                        .kernel(1610, 490, 4, "gemm", 7, 1)
                        .note("mark", 0, 2500);
  const auto claims = Case(text).claims();
  // Device 0: until each launch returned; device 1: from the span's begin.
  expect_claims(claims, {{1000, 1505}, {1610, 2005}, {0, 1605}});
  EXPECT_EQ(claims.back().device, 1);
}

TEST(Marks, WithoutADeviceTheMainThreadIsHeldUp) {
  const auto text = TraceText()
                        .op("aten::mm", 0, 500)
                        .op("aten::mm", 900, 100)
                        .note("mark", 400, 300);
  const auto claims = Case(text).claims();
  expect_claims(claims, {{400, 700}});
  EXPECT_EQ(claims[0].device, -1);
  EXPECT_FALSE(claims[0].idle);
  // A helper's mark holds nobody up while the main thread computes.
  expect_claims(Case(TraceText()
                         .op("aten::mm", 0, 500)
                         .op("aten::mm", 900, 100)
                         .op("aten::mm", 1000, 10)
                         .note("mark", 100, 200, 2)
                         .note("mark", 600, 200, 2))
                    .claims(),
                {{600, 800}});
}

}  // namespace
}  // namespace tta::patterns

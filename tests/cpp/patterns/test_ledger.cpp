// SPDX-License-Identifier: BSD-3-Clause
// Each nanosecond is given once, whatever a rule claims.
#include "patterns/ledger.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "support/trace_text.h"

namespace tta::patterns {
namespace {

// The device is idle in [20, 50) us and busy around it.
class LedgerTest : public testing::Test {
 protected:
  static Claim claim(std::int64_t begin, std::int64_t end, bool idle = true) {
    return {PatternId::kSyncStall, 0, idle, 0, begin * 1000, end * 1000, 0};
  }
  std::int64_t left() const { return timeline::total(ledger_.left()[0]); }

  const trace::Trace trace_ =
      test::TraceText().launched(0, 10, 10, 1).launched(12, 50, 10, 2).load();
  const timeline::Timeline timeline_ = timeline::make_timeline(trace_);
  Ledger ledger_{timeline_};
};

TEST_F(LedgerTest, TakesWhatIsClaimed) {
  const auto before = left();
  ledger_.settle({claim(30, 40), claim(40, 45), claim(12, 14, false)});
  EXPECT_EQ(left(), before - 15'000);
  EXPECT_EQ(timeline::total(ledger_.busy(0, timeline_.span)), 18'000);
}

TEST_F(LedgerTest, RefusesWhatIsClaimedTwice) {
  const auto before = left();
  EXPECT_THROW(ledger_.settle({claim(30, 40), claim(39, 45)}), std::logic_error);
  EXPECT_THROW(ledger_.settle({claim(30, 40), claim(30, 40)}), std::logic_error);
  EXPECT_EQ(left(), before);
  ledger_.settle({claim(30, 40)});
  EXPECT_THROW(ledger_.settle({claim(39, 45)}), std::logic_error);
}

TEST_F(LedgerTest, RefusesWhatIsNotThere) {
  EXPECT_THROW(ledger_.settle({claim(45, 55)}), std::logic_error);
  EXPECT_THROW(ledger_.settle({claim(15, 25, false)}), std::logic_error);
  EXPECT_THROW(ledger_.settle({claim(40, 40)}), std::logic_error);
  auto nowhere = claim(30, 40);
  nowhere.device = 1;
  EXPECT_THROW(ledger_.settle({nowhere}), std::logic_error);
}

}  // namespace
}  // namespace tta::patterns

// SPDX-License-Identifier: BSD-3-Clause
// Rules that users bring along: what they ask for is cut to what is left.
#include "patterns/found.h"

namespace tta::patterns {
namespace {

// The first number after the built-in ones.
const auto kOwn = static_cast<PatternId>(patterns().size());

OwnRule own_rule(std::vector<Request> requests,
                 std::optional<PatternId> before = kProfilerArtifact) {
  OwnRule rule;
  rule.name = "slow_checkpoint";
  rule.summary = "Slow.";
  rule.advice = "Do less.";
  rule.before = before;
  rule.propose = [requests](const Context&) { return requests; };
  return rule;
}

Findings find_with(const TraceText& text, std::vector<OwnRule> own) {
  const auto trace = text.load();
  const auto timeline = timeline::make_timeline(trace);
  return find(timeline, timeline::EventArgs(timeline), {}, own);
}

// Busy until 1000 us; row 2 holds up the launch at 1600; busy from 1610 to 2610.
TraceText held_up(const std::string& name = "save_checkpoint") {
  return TraceText()
      .launched(0, 10, 990, 1)
      .note(name, 1005, 490)
      .launched(1600, 1610, 1000, 3);
}
constexpr Request kMark{1'005'000, 1'495'000, 2, {}, false};

TEST(OwnRule, ClaimsTheIdleTimeThatItsEventCost) {
  // 500 us before the device ran dry cost nothing.
  const auto found = find_with(held_up(), {own_rule({{500'000, 1'495'000, 2, {}}})});
  ASSERT_EQ(found.own.size(), 1u);
  EXPECT_EQ(found.own[0].pattern, kOwn);
  EXPECT_EQ(found.own[0].requests, 1u);
  EXPECT_EQ(found.own[0].asked_ns, 995'000);
  EXPECT_EQ(found.own[0].claimed_ns, 495'000);
  EXPECT_EQ(found.own[0].taken_ns, 0);
  EXPECT_TRUE(found.own[0].counted);
  EXPECT_EQ(wasted(found, kOwn), 495'000);
  EXPECT_EQ(found.patterns[kOwn].name, "slow_checkpoint");
  const auto f = first(found, kOwn);
  EXPECT_EQ(f.message, "1 event, save_checkpoint: the device idled 495 µs to it.");
  EXPECT_EQ(f.idle_ns, 495'000);
}

TEST(OwnRule, HasWhatTheBuiltInOnesLeave) {
  const auto text =
      held_up("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__");
  const auto after = find_with(text, {own_rule({kMark}, std::nullopt)});
  EXPECT_EQ(wasted(after, kDataloaderBound), 490'000);
  EXPECT_EQ(after.own[0].claimed_ns, 0);
  EXPECT_EQ(after.own[0].taken_ns, 490'000);
  EXPECT_FALSE(after.own[0].counted);
  EXPECT_EQ(wasted(after, kOwn), 0);
  const auto before = find_with(text, {own_rule({kMark}, kDataloaderBound)});
  EXPECT_EQ(wasted(before, kDataloaderBound), 0);
  EXPECT_EQ(wasted(before, kOwn), 490'000);
}

TEST(OwnRule, EachNanosecondIsGivenOnce) {
  const Request early{500'000, 1'200'000, 2, 0, false};
  const Request late{1'100'000, 1'300'000, 2, 0, false};
  const auto found = find_with(held_up(), {own_rule({late, early, kMark})});
  // The mark has [1005, 1495), of the first two [1000, 1005) is left.
  EXPECT_EQ(found.own[0].claimed_ns, 495'000);
  EXPECT_EQ(found.own[0].asked_ns, 200'000 + 700'000 + 490'000);
  auto second = own_rule({kMark});
  second.name = "late";
  const auto both = find_with(held_up(), {own_rule({kMark}), second});
  EXPECT_EQ(wasted(both, kOwn), 490'000);
  EXPECT_EQ(both.own[1].claimed_ns, 0);
  EXPECT_EQ(both.own[1].taken_ns, 490'000);
}

TEST(OwnRule, BusyTimeIsExcess) {
  const auto found =
      find_with(held_up(), {own_rule({{900'000, 1'100'000, 1, 0, true},
                                      {-9'000'000'000, 100'000, 1, 0, true}})});
  EXPECT_EQ(wasted(found, kOwn), 100'000 + 90'000);
  for (const auto& claim : found.claims) {
    EXPECT_NE(claim.idle, claim.pattern == kOwn);
  }
}

TEST(OwnRule, ProcessTimeOfACpuOnlyTrace) {
  const auto found = find_with(TraceText()
                                   .op("aten::mm", 0, 1000)
                                   .note("save_checkpoint", 1000, 400)
                                   .op("aten::mm", 1400, 600),
                               {own_rule({{900'000, 1'300'000, 1, {}, false}})});
  EXPECT_EQ(wasted(found, kOwn), 400'000);
  ASSERT_FALSE(found.findings.empty());
  EXPECT_EQ(found.findings[0].message,
            "1 event, save_checkpoint: the program lost 400 µs to it.");
}

TEST(OwnRule, CountsFromItsShareOn) {
  // 490 of 2610 us are a share of 0.18774.
  for (const auto& [share, counts] : {std::pair(0.1877, true), {0.1878, false}}) {
    auto rule = own_rule({kMark});
    rule.min_share = share;
    const auto found = find_with(held_up(), {rule});
    EXPECT_EQ(found.own[0].counted, counts);
    EXPECT_EQ(wasted(found, kOwn), counts ? 490'000 : 0);
    EXPECT_EQ(found.own[0].claimed_ns, 490'000);
  }
}

TEST(OwnRule, RefusesWhatIsNotThere) {
  EXPECT_THROW(find_with(held_up(), {own_rule({{0, 10, 2, 1, false}})}),
               std::invalid_argument);
  EXPECT_THROW(find_with(held_up(), {own_rule({{0, 10, 5, {}, false}})}),
               std::invalid_argument);
  auto rule = own_rule({});
  for (const auto* name :
       {"sync_stall", "unattributed", "Slow", "", "9_lives", "a-b"}) {
    rule.name = name;
    EXPECT_THROW(find_with(held_up(), {rule}), std::invalid_argument) << name;
  }
}

TEST(OwnRule, WhatItThrowsComesOut) {
  auto rule = own_rule({});
  rule.propose = [](const Context&) -> std::vector<Request> {
    throw std::out_of_range("mine");
  };
  EXPECT_THROW(find_with(held_up(), {rule}), std::out_of_range);
}

TEST(PatternTable, HoldsAsManyAsThereAreNumbers) {
  PatternTable table;
  while (table.size() < 256)
    table.add("own_" + std::to_string(table.size()), PatternSide::kGpu, "s", "a");
  const auto copy = table;
  EXPECT_EQ(copy[PatternId{255}].name, "own_255");
  EXPECT_EQ(copy[PatternId{255}].side, PatternSide::kGpu);
  EXPECT_THROW(table.add("more", PatternSide::kCpu, "s", "a"), std::invalid_argument);
}

TEST(Settings, SharesEndAtOne) {
  Settings settings;
  settings.set("sync_stall", "min_share", 1);
  EXPECT_THROW(settings.set("sync_stall", "min_share", 1.01), std::invalid_argument);
  EXPECT_THROW(settings.set("sync_stall", "min_share", -0.1), std::invalid_argument);
}

}  // namespace
}  // namespace tta::patterns

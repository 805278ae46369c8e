// SPDX-License-Identifier: BSD-3-Clause
// A model's scores beside what rules say: each figure by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "pipeline/verdicts/verdicts.h"
#include "support/says.h"
#include "timeline/timed.h"

namespace tta::pipeline {
namespace {

using test::says;
using test::Timed;
using test::TraceText;
using Columns = std::vector<std::int64_t>;
using Flags = std::vector<std::uint8_t>;

// Columns of the model: of the CPU's side two, of the GPU's one, and one unknown here.
const std::vector<std::string> kPatterns = {"gc_pause", "small_grid", "sync_stall",
                                            "of_old"};

// Three lines that call an operator each, and an operator by itself. Of each the row is
// the place in this list.
const Timed& trace() {
  static const Timed timed(TraceText()
                               .op("aten::mm", 10, 20)
                               .op("aten::add", 110, 20)
                               .op("aten::sub", 210, 20)
                               .op("aten::bare", 310, 20)
                               .python("train.py(3): step", 0, 100)
                               .python("train.py(7): step", 100, 100)
                               .python("it's.py(9): load", 200, 100));
  return timed;
}

// A report of windows of 10 us without labels, and scores that flag nothing.
struct Scored {
  explicit Scored(std::size_t windows) {
    report.timeline = {std::shared_ptr<void>(), &trace()};
    for (std::uint32_t i = 0; i < windows; ++i) {
      Window window;
      window.index = i;
      window.start_ns = i * 10'000;
      window.end_ns = window.start_ns + 10'000;
      window.device = 0;
      window.pid = 100;
      report.windows.push_back(window);
    }
    probability.assign(2 * windows, 0.1f);
    types.assign(kPatterns.size() * windows, 0.01f);
    recoverable.assign(windows, 0.25f);
    strangeness.assign(windows, 1);
    tokens.assign(2 * windows, -1);
  }
  Scored& flag(std::size_t window, std::size_t pattern, float value) {
    probability[2 * window + (pattern == 1 ? 1 : 0)] = value;
    types[kPatterns.size() * window + pattern] = 0.9f;
    return *this;
  }
  Scored& at(std::size_t window, std::int64_t first, std::int64_t second = -1) {
    tokens[2 * window] = first;
    tokens[2 * window + 1] = second;
    return *this;
  }
  Scored& label(std::size_t window, const std::string& pattern, double wasted,
                double saved, PatternSide side = PatternSide::kCpu) {
    Label label;
    label.pattern = pattern;
    label.side = side;
    label.wasted_fraction = wasted;
    label.saved_fraction = saved;
    auto& w = report.windows[window];
    w.labels.push_back(label);
    (side == PatternSide::kCpu ? w.cpu_wasted_fraction : w.gpu_wasted_fraction) +=
        wasted;
    return *this;
  }
  Verdicts verdicts() const {
    return model_verdicts(
        report, {kPatterns, not_asked, probability, types, recoverable, strangeness,
                 tokens, rows, thresholds, 5, 4});
  }

  Report report;
  std::vector<std::string> not_asked = {"of_old"};
  std::vector<float> probability, types, recoverable, strangeness;
  std::vector<std::int64_t> tokens;
  std::vector<std::uint32_t> rows = {0, 1, 2, 3};
  std::array<double, 2> thresholds = {0.5, 0.6};
};

TEST(Verdicts, FlagsAreAboveTheThresholdsOfTheirSide) {
  Scored scored(3);
  scored.flag(0, 0, 0.55f).flag(1, 1, 0.55f).flag(2, 1, 0.65f).flag(2, 2, 0.5f);
  const auto out = scored.verdicts();
  EXPECT_EQ(out.flagged, (Flags{1, 0, 0, 0, 0, 1}));
  EXPECT_EQ(out.probability, scored.probability);
  EXPECT_EQ(out.guess, (Columns{0, 1, 0, 1, 2, 1}));
  EXPECT_FALSE(out.strange);
  EXPECT_EQ(out.unexplained, (Flags{1, 0, 1}));
}

TEST(Verdicts, WhatIsStrangeFollowsTheRules) {
  Scored scored(5);
  for (std::size_t i = 0; i < 5; ++i) scored.flag(i, 0, 0.9f).flag(i, 1, 0.9f);
  scored.strangeness = {5.5f, 5, 3, 1, 1};
  scored.report.windows[2].device.reset();
  const auto out = scored.verdicts();
  EXPECT_EQ(out.abstained, (Flags{1, 0, 0, 0, 0}));
  EXPECT_EQ(out.follows, (Flags{1, 1, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(out.flagged, (Flags{0, 0, 1, 1, 1, 0, 1, 1, 1, 1}));
  EXPECT_TRUE(std::isnan(out.probability[5]));
  EXPECT_FLOAT_EQ(out.probability[0], static_cast<float>(rules_probability(0)));
  EXPECT_EQ(out.counts.cpu, (Agreement{0, 0, 4, 0}));
  EXPECT_EQ(out.counts.gpu, (Agreement{0, 0, 3, 0}));
  EXPECT_EQ(out.counts.flagged, 4u);
  EXPECT_EQ(out.counts.abstained, 1u);
  EXPECT_TRUE(out.windows[0].cpu_probability && !out.windows[2].gpu_probability);
  EXPECT_TRUE(out.windows[0].labels.empty());
  // By whichever account of a side's loss is larger; the labels stay those of rules.
  scored.label(0, "sync_stall", 0.02, 0.2).label(0, "gc_pause", 0.02, 0.01);
  scored.label(0, "small_grid", 0.03, 0.01, PatternSide::kGpu);
  const auto ruled = scored.verdicts();
  EXPECT_FLOAT_EQ(ruled.probability[0], static_cast<float>(rules_probability(0.2)));
  EXPECT_FLOAT_EQ(ruled.probability[1], static_cast<float>(rules_probability(0.03)));
  EXPECT_EQ(ruled.flagged[0], 1);
  EXPECT_EQ(ruled.flagged[1], 0);
  EXPECT_EQ(ruled.windows[0].labels.size(), 3u);
  EXPECT_EQ(ruled.counts.flagged, 5u);
  EXPECT_EQ(ruled.counts.with_rules, 1u);
  EXPECT_EQ(ruled.counts.cpu, out.counts.cpu);
  // A trace is strange if its median window is.
  scored.strangeness = {9, 4.5f, 4.5f, 1, 1};
  EXPECT_TRUE(scored.verdicts().strange);
  EXPECT_EQ(scored.verdicts().abstained, (Flags{1, 1, 1, 1, 1}));
  scored.strangeness = {9, 9, 4, 1, 1};
  EXPECT_FALSE(scored.verdicts().strange);
}

TEST(Verdicts, ByRulesAloneALossIsAsLikelyAsNotAtTheLeastLoss) {
  EXPECT_DOUBLE_EQ(rules_probability(kLoss), 0.5);
  // Odds of 0.21 : 0.81 over those of 0.06 : 0.96.
  EXPECT_NEAR(rules_probability(0.2) / (1 - rules_probability(0.2)),
              0.21 / 0.81 * 0.96 / 0.06, 1e-9);
  for (int i = 0; i < 100; ++i) {
    EXPECT_LT(rules_probability(i / 100.0), rules_probability((i + 1) / 100.0)) << i;
  }
}

TEST(Verdicts, RulesClaimTheLargestSavingOfASide) {
  Scored scored(2);
  scored.label(1, "sync_stall", 0.4, 0.2).label(1, "gc_pause", 0.1, 0.25);
  scored.label(1, "small_grid", 0.3, 0.5, PatternSide::kGpu);
  scored.label(0, "profiler_artifact", 0.9, 0.9);
  EXPECT_EQ(claimed_shares(scored.report), (std::vector<float>{0, 0, 0.25f, 0.5f}));
}

TEST(Verdicts, TheMedianOfAnEvenNumberIsBetweenTwo) {
  Scored scored(2);
  scored.strangeness = {1, 7.5f};
  EXPECT_TRUE(scored.verdicts().strange);  // 4.25
  scored.strangeness = {1, 7};
  EXPECT_FALSE(scored.verdicts().strange);
}

TEST(Verdicts, WhatIsNotAskedForIsNeverNamed) {
  Scored scored(1);
  scored.types = {0.2f, 0.5f, 0.7f, 0.99f};
  EXPECT_EQ(scored.verdicts().guess, (Columns{2, 1}));
  scored.not_asked = {"of_old", "sync_stall", ""};
  EXPECT_EQ(scored.verdicts().guess, (Columns{0, 1}));
  // A pattern that this report does not have is none either.
  scored.not_asked = {};
  EXPECT_EQ(scored.verdicts().guess, (Columns{2, 1}));
  // Of a side without any pattern to name it says what rules say.
  scored.not_asked = {"small_grid"};
  scored.flag(0, 1, 0.9f);
  const auto out = scored.verdicts();
  EXPECT_EQ(out.guess, (Columns{2, -1}));
  EXPECT_FLOAT_EQ(out.probability[1], static_cast<float>(rules_probability(0)));
  EXPECT_EQ(out.follows, (Flags{0, 1}));
  EXPECT_TRUE(out.windows[0].labels.empty());
}

TEST(Verdicts, WhereRulesSeeALossTheirPatternIsNamed) {
  Scored scored(5);
  for (std::size_t i = 0; i < 5; ++i) scored.flag(i, 0, 0.9f);
  scored.label(0, "sync_stall", 0.05, 0.01);
  scored.label(1, "sync_stall", 0.049, 0.049);  // next to nothing
  scored.label(2, "sync_stall", 0.02, 0.03).label(2, "gc_pause", 0.03, 0.02);
  scored.label(3, "launch_bound", 0.6, 0.9);  // unknown to the model
  scored.label(4, "sync_stall", 0.01, 0.05).label(4, "gc_pause", 0.02, 0.02);
  const auto out = scored.verdicts();
  EXPECT_EQ(out.by_rules, (Flags{1, 0, 0, 0, 1, 0, 1, 0, 1, 0}));
  EXPECT_EQ(out.guess, (Columns{2, 1, 0, 1, 2, 1, 0, 1, 2, 1}));
  EXPECT_EQ(out.counts.cpu, (Agreement{4, 0, 1, 0}));
  EXPECT_EQ(out.counts.gpu, (Agreement{0, 0, 0, 5}));
  EXPECT_EQ(out.counts.with_rules, 4u);
  EXPECT_EQ(out.counts.rules_alone, 0u);
  scored.flag(4, 0, 0.1f);
  EXPECT_EQ(scored.verdicts().counts.rules_alone, 1u);
}

TEST(Verdicts, WhatRulesExplainIsNotUnexplained) {
  Scored scored(6);
  for (std::size_t i = 0; i < 6; ++i) scored.flag(i, 0, 0.9f);
  scored.label(0, "sync_stall", 0.02, 0).label(1, "sync_stall", 0.019, 0.019);
  scored.label(2, "sync_stall", 0, 0.02);
  scored.label(3, "sync_stall", 0.01, 0)
      .label(3, "small_grid", 0.01, 0, PatternSide::kGpu);
  // The profiler's own time counts as an explanation, not as a loss.
  scored.label(4, "profiler_artifact", 0.5, 0.5);
  scored.label(5, "of_old", 0.5, 0.5);
  const auto out = scored.verdicts();
  EXPECT_EQ(out.unexplained, (Flags{0, 1, 0, 0, 0, 0}));
  EXPECT_EQ(out.by_rules, Flags(12));
}

TEST(Verdicts, LabelsFollowThoseOfRules) {
  Scored scored(2);
  scored.flag(0, 2, 0.9f).flag(0, 1, 0.75f).label(0, "gc_pause", 0.5, 0.6);
  scored.recoverable[0] = 0.375f;
  const auto out = scored.verdicts();
  const auto& window = out.windows[0];
  ASSERT_EQ(window.labels.size(), 3u);
  EXPECT_EQ(window.labels[0], scored.report.windows[0].labels[0]);
  EXPECT_EQ(window.labels[1].pattern, "gc_pause");  // that of the rule
  EXPECT_EQ(window.labels[1].side, PatternSide::kCpu);
  EXPECT_EQ(window.labels[1].origin, Origin::kModel);
  EXPECT_EQ(window.labels[1].wasted_ns, 0);
  EXPECT_EQ(window.labels[1].wasted_fraction, 0);
  EXPECT_EQ(window.labels[1].saved_fraction, 0.375);
  EXPECT_EQ(window.labels[1].probability, double{0.9f});
  EXPECT_EQ(window.labels[2].pattern, "small_grid");
  EXPECT_EQ(window.labels[2].side, PatternSide::kGpu);
  EXPECT_EQ(window.cpu_probability, double{0.9f});
  EXPECT_EQ(window.gpu_probability, 0.75);
  auto other = out.windows[1];
  EXPECT_EQ(other.cpu_probability, double{0.1f});
  other.cpu_probability.reset();
  other.gpu_probability.reset();
  EXPECT_EQ(other, scored.report.windows[1]);
}

TEST(Verdicts, UnexplainedWindowsOfOnePlaceAreAFinding) {
  Scored scored(7);
  // Two neighbors at line 3, one apart at line 7, one more at line 3.
  scored.flag(0, 0, 0.9f).at(0, 1).flag(1, 2, 0.97f).at(1, 0, 3);
  scored.flag(3, 1, 0.8f).at(3, 1, 0).flag(6, 0, 0.7f).at(6, 0, 1);
  scored.recoverable[3] = 1;
  const auto found = scored.verdicts().findings;
  ASSERT_EQ(found.size(), 2u);
  const auto &alone = found[0], &together = found[1];  // 10 us before 7.5 us
  EXPECT_EQ(together.pattern, "unexplained");
  EXPECT_EQ(together.windows, (std::vector<std::uint32_t>{0, 1, 6}));
  EXPECT_EQ(together.count, 3u);
  EXPECT_EQ(together.location->line, std::nullopt);
  EXPECT_EQ(together.location->recorded_line, 3);
  EXPECT_EQ(together.operator_, "");
  EXPECT_EQ(together.side, PatternSide::kCpu);
  EXPECT_EQ(together.severity, Severity::kLow);
  EXPECT_EQ(together.basis, Basis::kModel);
  EXPECT_EQ(together.origin, Origin::kModel);
  EXPECT_EQ(together.wasted_ns, 0);
  EXPECT_EQ(together.docs, "docs/detector.md");
  EXPECT_EQ(together.processes, (std::vector<record::Identity>{100}));
  std::vector<std::string> events;  // of the surest window first, each once
  for (const auto& event : together.events) events.push_back(event.name);
  EXPECT_EQ(events, (std::vector<std::string>{"aten::mm", "aten::bare", "aten::add"}));
  EXPECT_EQ(together.message,
            "No rule explains 3 windows here (30 µs). The learned detector reports, "
            "with a probability of up to 97.0 %, that something on the CPU's "
            "side costs 5 % and more, most likely sync_stall. It guesses that 7.5 µs "
            "could be saved. The events are those that it attended to most.");
  EXPECT_EQ(alone.windows, (std::vector<std::uint32_t>{3}));
  EXPECT_EQ(alone.location->recorded_line, 7);
  EXPECT_EQ(alone.side, PatternSide::kGpu);
  EXPECT_TRUE(says(alone.message, "1 window here (10 µs)"));
  EXPECT_TRUE(
      says(alone.message, "a probability of 80.0 %, that something on the GPU"));
}

TEST(Verdicts, NeighborsOfOtherDevicesAndProcessesAreApart) {
  Scored scored(4);
  for (std::size_t i = 0; i < 4; ++i) scored.flag(i, 0, 0.6f + 0.1f * float(i));
  scored.report.windows[2].device = scored.report.windows[3].device = 1;
  scored.report.windows[3].pid = "rank 1";
  scored.at(1, 0).at(2, 1).at(3, 2);
  std::vector<std::vector<std::uint32_t>> windows;
  for (const auto& finding : scored.verdicts().findings) {
    windows.push_back(finding.windows);
  }
  EXPECT_EQ(windows, (std::vector<std::vector<std::uint32_t>>{{0, 1}, {2}, {3}}));
  EXPECT_EQ(scored.verdicts().findings[2].processes,
            (std::vector<record::Identity>{"rank 1"}));
}

// Those that Python made of the same places, by
// sha256(repr((place,)).encode()).hexdigest()[:8].
TEST(Verdicts, IdsStayThoseOfTheirPlace) {
  Scored scored(7);
  for (const auto i : {0, 2, 4, 6}) scored.flag(std::size_t(i), 0, 0.9f);
  scored.at(0, 0).at(2, 1).at(4, 2).at(6, 3);
  scored.recoverable = {0.9f, 0, 0.8f, 0, 0.7f, 0, 0.6f};
  std::vector<std::string> ids;
  for (const auto& finding : scored.verdicts().findings) ids.push_back(finding.id);
  // The line where a function begins does not count: only that of a call does.
  EXPECT_EQ(ids,
            (std::vector<std::string>{"unexplained-fcbeecf3", "unexplained-fcbeecf3-2",
                                      "unexplained-8407530b", "unexplained-78a47e12"}));
}

TEST(Verdicts, BeyondTenPlacesTheRestIsOne) {
  TraceText text;
  for (int i = 0; i < 13; ++i) text.op("op" + std::to_string(i), 10 * i, 5);
  const Timed many(text);
  Scored scored(26);
  scored.report.timeline = {std::shared_ptr<void>(), &many};
  scored.rows.clear();
  for (std::uint32_t i = 0; i < 13; ++i) {
    scored.rows.push_back(i);
    scored.flag(2 * i, 0, 0.9f).at(2 * i, i);
    scored.recoverable[2 * i] = 0.9f - 0.05f * static_cast<float>(i);
  }
  const auto found = scored.verdicts().findings;
  ASSERT_EQ(found.size(), 11u);
  EXPECT_EQ(found[9].operator_, "op9");
  EXPECT_EQ(found[10].windows, (std::vector<std::uint32_t>{20, 22, 24}));
  EXPECT_EQ(found[10].operator_, "");
  EXPECT_FALSE(found[10].location);
  EXPECT_EQ(found[10].events.size(), 3u);
}

TEST(Verdicts, ArraysThatDoNotFitAreRefused) {
  const auto refusal = [](const std::function<void(Scored&)>& change) -> std::string {
    Scored scored(3);
    change(scored);
    try {
      scored.verdicts();
      return "";
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
  };
  EXPECT_EQ(refusal([](Scored&) {}), "");
  EXPECT_TRUE(says(refusal([](Scored& s) { s.probability.pop_back(); }),
                   "probability must have 6 values, not 5"));
  EXPECT_TRUE(
      says(refusal([](Scored& s) { s.types.push_back(0); }), "types must have"));
  EXPECT_TRUE(says(refusal([](Scored& s) { s.recoverable.clear(); }), "recoverable"));
  EXPECT_TRUE(says(refusal([](Scored& s) { s.strangeness.clear(); }), "strangeness"));
  EXPECT_TRUE(says(refusal([](Scored& s) { s.tokens.pop_back(); }), "tokens must"));
  EXPECT_TRUE(
      says(refusal([](Scored& s) { s.tokens[0] = 4; }), "tokens: 4 is none of 4"));
  EXPECT_TRUE(says(refusal([](Scored& s) { s.tokens[0] = -2; }), "tokens: -2 is none"));
  EXPECT_EQ(refusal([](Scored& s) { s.tokens.clear(); }), "");
  const auto none = Scored(0).verdicts();
  EXPECT_TRUE(none.windows.empty() && none.findings.empty() && !none.strange);
}

}  // namespace
}  // namespace tta::pipeline

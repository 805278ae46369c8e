// SPDX-License-Identifier: BSD-3-Clause
// The rows of an answer: drawn together, in order, and only what matters.
#include "pipeline/story/answer.h"

#include "patterns/pattern.h"
#include "pipeline/analyzed.h"

namespace tta::pipeline {
namespace {

// Ten steps of 4 ms, each with a batch loaded for `load` us by one of two loaders, and
// a kernel of 1 ms that is waited for.
TraceText loading(double load, const std::string& header = "",
                  const std::string& inputs = "", double length = 4000) {
  TraceText text;
  if (!header.empty()) text.header(header);
  for (int i = 0; i < 10; ++i) {
    const auto at = i * length;
    text.step(i, at, length - 1);
    text.python(i < 3 ? "train.py(10): first" : "train.py(20): second", at,
                length - 10);
    text.op("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at + 1,
            load);
    text.op("aten::mm", at + load + 10, 20, inputs);
    text.launched(at + load + 12, at + load + 20, 1000, i + 1);
    text.op("aten::item", at + load + 40, 1000);
    text.call("cudaStreamSynchronize", at + load + 50, 978, 1000 + i);
  }
  return text;
}

TEST(Answer, PlacesOfOneKindAreOneRow) {
  const Analyzed report(loading(2000));
  const auto answer = answer_of(report);
  const AnswerRow* loader = nullptr;
  for (const auto& row : answer.rows) {
    if (row.pattern == "dataloader_bound") loader = &row;
  }
  ASSERT_NE(loader, nullptr);
  ASSERT_EQ(loader->findings.size(), 2);
  const auto& costliest = report.findings[loader->findings[0]];
  ASSERT_TRUE(costliest.location);
  EXPECT_EQ(costliest.location->function, "second");
  EXPECT_EQ(loader->count, 10);
  EXPECT_EQ(loader->problem, "The program waited for the next batch");
  EXPECT_EQ(loader->fix, "Load in the background");
  // 2 of each 4 ms are seen in the loader, and all of it goes in the replay.
  EXPECT_NEAR(loader->observed_fraction, 0.5, 0.02);
  ASSERT_TRUE(loader->high_fraction);
  EXPECT_GE(*loader->high_fraction, 0.5);
  EXPECT_LE(*loader->low_fraction, *loader->middle_fraction);
  double alone = 0;
  for (const auto i : loader->findings) {
    alone = std::max(alone, static_cast<double>(report.findings[i].gain->middle));
  }
  EXPECT_GT(*loader->middle_fraction,
            alone / static_cast<double>(report.timeline->span.length()));
  std::size_t listed = answer.rest;
  for (const auto& row : answer.rows) listed += row.findings.size();
  EXPECT_EQ(listed, report.findings.size());
}

TEST(Answer, WithoutARowItSaysWhereTheTimeGoes) {
  const Analyzed report(TraceText()
                            .launched(0, 8, 1000, 1)
                            .launched(1000, 1010, 990, 2)
                            .launched(1900, 2010, 900, 3));
  Report few = report;
  few.findings.clear();
  EXPECT_EQ(answer_of(few).rows.size(), 0);
  EXPECT_NE(answer_of(few).otherwise, "");
  few.quality.verdict = Verdict::kUnusable;
  EXPECT_TRUE(says(answer_of(few).otherwise, "No verdict"));
}

// The loader takes nearly all the time, so that no row is of the kernels.
TEST(Answer, KernelsFarBelowThePeakHaveALine) {
  const std::string a100 =
      R"("deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-40GB"}])";
  const auto said = [&](int size, const std::string& header) {
    const auto n = std::to_string(size);
    const auto dims = "[" + n + ", " + n + "]";
    const auto text = loading(58'900, header,
                              R"("Input Dims": [)" + dims + ", " + dims +
                                  R"(], "Input type": ["c10::Half", "c10::Half"])",
                              60'000);
    return answer_of(Analyzed(text)).kernels;
  };
  // 65.5 GFLOP, 209.8 us at the peak, of which good kernels reach 75 %, and 3 us to
  // start and end: 717 of 1000.
  EXPECT_EQ(said(3199, a100).rfind("Kernels: up to 71.7 % of the busy time", 0), 0u)
      << said(3199, a100);
  EXPECT_NE(said(3199, a100).find("misaligned"), std::string::npos);
  EXPECT_EQ(said(5120, a100), "") << "860 of 1000 us are at the peak";
  EXPECT_EQ(said(3199, ""), "");
}

TEST(Answer, OfTooLittleThereIsNoVerdict) {
  auto text = TraceText().step(0, 0, 30'000);
  text.op("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0, 20'000);
  for (int i = 0; i < 9; ++i) {
    text.launched(20'010 + 100 * i, 20'020 + 100 * i, 90, i + 1);
  }
  const Analyzed report(text);
  ASSERT_FALSE(report.findings.empty());
  const auto answer = answer_of(report);
  EXPECT_EQ(answer.rows.size(), 0);
  EXPECT_TRUE(says(answer.otherwise, "Too little is recorded")) << answer.otherwise;
  EXPECT_EQ(answer.rest, report.findings.size());
}

TEST(Answer, OnlyWhatMattersAndFiveRowsAtMost) {
  const Analyzed analyzed(loading(2000));
  Report report = analyzed;
  const auto one = report.findings.front();
  const auto span = report.timeline->span.length();
  report.findings.clear();
  for (const auto& info : patterns::patterns()) {
    auto f = one;
    f.pattern = info.id;
    f.subtype = 0;
    f.observed.clear();
    f.gain.reset();
    f.wasted_ns = span / 100 * (report.findings.size() < 7 ? 4 : 2);
    report.findings.push_back(f);
  }
  auto answer = answer_of(report);
  EXPECT_EQ(answer.rows.size(), 5);
  EXPECT_EQ(answer.rest, report.findings.size() - 5);
  // A fix that saves much matters, whatever its own cost, and comes first.
  auto& last = report.findings.back();
  last.gain = one.gain;
  last.gain->middle = span / 2;
  answer = answer_of(report);
  ASSERT_FALSE(answer.rows.empty());
  EXPECT_EQ(answer.rows[0].findings,
            (std::vector<std::uint32_t>{
                static_cast<std::uint32_t>(report.findings.size() - 1)}));
  EXPECT_NEAR(*answer.rows[0].middle_fraction, 0.5, 1e-6);
}

// What the first screen says to do is the first clause of an advice.
TEST(Answer, EachAdviceBeginsWithAShortClause) {
  const Analyzed analyzed(loading(2000));
  Report report = analyzed;
  report.findings.resize(1);
  auto& f = report.findings[0];
  f.observed.clear();
  f.wasted_ns = report.timeline->span.length() / 2;
  for (const auto& info : patterns::patterns()) {
    f.pattern = info.id;
    f.subtype = 0;
    f.advice = info.advice;
    const auto rows = answer_of(report).rows;
    ASSERT_EQ(rows.size(), 1);
    EXPECT_GE(rows[0].fix.size(), 8) << info.name;
    EXPECT_LE(rows[0].fix.size(), 80) << info.name;
    EXPECT_TRUE(info.advice.starts_with(rows[0].fix)) << info.name;
    EXPECT_EQ(rows[0].fix.find_first_of(":;"), std::string::npos) << info.name;
    EXPECT_FALSE(rows[0].problem.ends_with('.')) << info.name;
  }
}

}  // namespace
}  // namespace tta::pipeline

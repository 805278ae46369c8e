// SPDX-License-Identifier: BSD-3-Clause
// What fixing findings gains, edits by name, and critical paths, on traces worked by
// hand.
#include <cmath>
#include <stdexcept>

#include "pipeline/analyzed.h"
#include "pipeline/pricing/path_rows.h"
#include "pipeline/pricing/price.h"
#include "pipeline/pricing/what_if.h"

namespace tta::pipeline {
namespace {

using replay::EdgeKind;

// Ten steps: load for 2 ms, launch 1 ms of kernels, read the result.
TraceText loading_steps() {
  TraceText text;
  for (int i = 0; i < 10; ++i) {
    const auto at = i * 4000.0;
    text.step(i, at, 3999);
    text.op("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at, 2000);
    text.op("aten::mm", at + 2010, 20);
    text.launched(at + 2012, at + 2020, 1000, i + 1);
    text.op("aten::item", at + 2040, 1900);
    text.call("cudaStreamSynchronize", at + 2050, 978, 1000 + i);
  }
  return text;
}

TEST(Price, PricesALoaderByReplay) {
  const Analyzed report(loading_steps());
  const auto& replay = *report.replay;
  ASSERT_EQ(replay.refusal, "");
  EXPECT_TRUE(replay.fidelity.replayable);
  bool found = false;
  for (const auto& finding : report.findings) {
    if (finding.pattern != patterns::PatternId::kDataloaderBound) continue;
    found = true;
    ASSERT_TRUE(finding.gain);
    // All of the host's loading goes: nothing else can hold it up.
    EXPECT_EQ(finding.gain->replayed, 10 * 2'000'000);
    EXPECT_LT(finding.gain->low, finding.gain->middle);
    EXPECT_LT(finding.gain->middle, 10 * 2'000'000) << "workers slow the program down";
  }
  EXPECT_TRUE(found);
  ASSERT_TRUE(replay.together);
  EXPECT_GE(replay.together->high, 10 * 2'000'000);
  ASSERT_EQ(replay.windows.size(), report.windows.size());
  double saved = 0;
  for (std::size_t i = 0; i < replay.windows.size(); ++i) {
    const auto length = report.tiles[i].end_ns - report.tiles[i].begin_ns;
    saved += replay.windows[i] * static_cast<double>(length);
  }
  EXPECT_NEAR(saved, static_cast<double>(replay.together->replayed), 1000);
}

// 20 passes of select (4 us) and tanh (10 us), each with a node of 10 us and one of
// 30 us in a backward pass that begins after 2 ms; `numbered` says of which pass.
TraceText loop_with_gradients(bool numbered) {
  TraceText text;
  text.python("train.py(7): each", 0, 6000);
  for (int i = 0; i < 20; ++i) {
    const auto number = [&](int node) {
      return "\"Sequence number\": " + std::to_string(numbered ? node : 1000 + node);
    };
    const auto index =
        "\"Concrete Inputs\": [\"\", \"0\", \"" + std::to_string(i) + "\"], ";
    const double at = 100 + i * 30, back = 2000 + (19 - i) * 50;
    text.op("aten::select", at, 4,
            index + "\"Sequence number\": " + std::to_string(2 * i))
        .op("aten::tanh", at + 10, 10,
            "\"Sequence number\": " + std::to_string(2 * i + 1))
        .op("autograd::engine::evaluate_function: TanhBackward0", back, 10,
            number(2 * i + 1))
        .op("TanhBackward0", back + 1, 8, number(2 * i + 1))
        .op("autograd::engine::evaluate_function: SelectBackward0", back + 12, 30,
            number(2 * i));
  }
  return text.op("aten::mm", 4000, 1000);
}

TEST(Price, ALoopsFixTakesItsBackwardPassToo) {
  const auto loop = [](const Analyzed& report) {
    for (const auto& f : report.findings) {
      if (f.pattern == patterns::PatternId::kLoopIndexing) return f;
    }
    ADD_FAILURE() << "no loop found";
    return patterns::Finding{};
  };
  const Analyzed with(loop_with_gradients(true)), without(loop_with_gradients(false));
  const auto finding = loop(with), alone = loop(without);
  ASSERT_TRUE(finding.gain && alone.gain);
  EXPECT_EQ(finding.wasted_ns, alone.wasted_ns) << "what was seen is the loop";
  // Of 19 passes a tanh's node, an index's and the 2 and 8 us to the next one.
  EXPECT_EQ(finding.gain->replayed - alone.gain->replayed, 19 * 50'000);
}

TEST(Price, CapturingLaunchesSavesNoPausesWhereEachPassLaunchesOnce) {
  TraceText text;
  for (int i = 0; i < 50; ++i) {
    const double at = i * 5'100.0;
    text.op("aten::mm", at, 30).launched(at + 10, at + 20, 50, i + 1);
  }
  const Analyzed report(text);
  ASSERT_TRUE(report.replay->fidelity.replayable);
  // Launching is late by 0.03 of 5.1 ms; the pauses before it are not its own.
  for (const auto& f : report.findings) {
    EXPECT_NE(f.pattern, patterns::PatternId::kLaunchBound) << f.message;
  }
}

TEST(Price, AllFixesTogetherPromiseNoLessThanOneAlone) {
  using replay::Gain;
  JointTrust trust;
  const auto gain_of = [](double low, double middle, std::int64_t replayed) {
    Gain gain;
    gain.replayed = gain.at_least = replayed;
    gain.span = 1'000;
    replay::set_range(gain, {low, middle, 1});
    return gain;
  };
  trust.add({0.8, 0.9, 1}, gain_of(0.8, 0.9, 100), 0);
  trust.add({0, 0.5, 1}, gain_of(0, 0.5, 300), 0);
  auto together = gain_of(0, 1, 350);
  trust.set_range(together, trust.get());
  EXPECT_EQ(together.low, 80) << "0.2 of 350 would be 70";
  EXPECT_EQ(together.middle, 210);
  EXPECT_EQ(together.high, 350);
  // Of the same time: no more than the replay saves.
  together = gain_of(0, 1, 60);
  trust.set_range(together, trust.get());
  EXPECT_EQ(together.low, 60);
  EXPECT_EQ(together.middle, 60);
}

TEST(WhatIf, AnEditBesideAFixTakesNothingFromItsRange) {
  const Analyzed report(loading_steps());
  const auto& model = *report.replay->model;
  const auto& trace = *report.timeline->trace;
  std::uint32_t name = 0;
  for (std::uint32_t i = 0; i < trace.columns.size(); ++i) {
    if (trace.name(i) == "gemm") name = trace.columns.name[i];
  }
  std::uint32_t loader = 0;
  while (report.findings.at(loader).pattern != patterns::PatternId::kDataloaderBound) {
    ++loader;
  }
  const Edit fix{EditKind::kFix, {loader}}, same{EditKind::kScale, {name}, 1};
  const auto alone = what_if(report, model, std::vector{fix}).gain;
  const auto both = what_if(report, model, std::vector{fix, same}).gain;
  EXPECT_GT(alone.low, 0);
  EXPECT_GE(both.low, alone.low);
  EXPECT_GE(both.middle, alone.middle);
}

TEST(Price, ALoadersOwnThreadIsAPartOfTheWaitForIt) {
  TraceText text;
  for (int i = 0; i < 10; ++i) {
    const auto at = i * 4000.0;
    text.step(i, at, 3999);
    text.note("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", at,
              2000);
    // The thread that pins memory.
    text.call("cudaPointerGetAttributes", at + 1500, 5, 2000 + i, 2);
    text.call("cudaEventQuery", at + 1900, 5, 3000 + i, 2);
    text.op("aten::mm", at + 2010, 20);
    text.launched(at + 2012, at + 2020, 1000, i + 1);
    text.op("aten::item", at + 2040, 1900);
    text.call("cudaStreamSynchronize", at + 2050, 978, 1000 + i);
  }
  const Analyzed report(text);
  ASSERT_TRUE(report.replay->fidelity.replayable) << report.replay->refusal;
  ASSERT_FALSE(report.findings.empty());
  const auto& finding = report.findings[0];
  EXPECT_EQ(finding.pattern, patterns::PatternId::kDataloaderBound);
  ASSERT_TRUE(finding.gain);
  EXPECT_NEAR(static_cast<double>(finding.gain->replayed), 10 * 2e6, 1e5);
}

TEST(Price, GivesNoGainWhereLaunchesAreMissing) {
  TraceText text;
  for (int i = 0; i < 40; ++i) {
    text.op("aten::mm", i * 1000.0, 100);
    text.kernel(i * 1000.0 + 50, 300, 5000 + i);  // none of them with its launch
  }
  text.launched(40'000, 40'008, 10, 1).launched(41'000, 41'008, 10, 2);
  const Analyzed report(text);
  const auto& replay = *report.replay;
  EXPECT_NE(replay.refusal, "");
  for (const auto& finding : report.findings) EXPECT_FALSE(finding.gain);
  EXPECT_FALSE(replay.together);
  EXPECT_TRUE(replay.windows.empty());
}

TEST(Price, PathsAddUpAndNameTheLongest) {
  const Analyzed report(loading_steps());
  const auto& replay = *report.replay;
  const auto paths = critical_paths(*replay.model);
  ASSERT_EQ(paths.size(), 11u);  // the trace, and ten steps
  const auto alone = critical_paths(*replay.model, 0);
  ASSERT_EQ(alone.size(), 1u);
  const auto& whole = alone[0];
  EXPECT_FALSE(whole.step);
  EXPECT_EQ(whole.by_category, paths[0].by_category);
  ASSERT_EQ(whole.places.size(), paths[0].places.size());
  for (std::size_t i = 0; i < whole.places.size(); ++i) {
    EXPECT_EQ(whole.places[i].name, paths[0].places[i].name);
    EXPECT_EQ(whole.places[i].us, paths[0].places[i].us);
  }
  EXPECT_FALSE(paths[0].step);
  for (const auto& path : paths) {
    std::int64_t sum = 0;
    for (const auto& [name, ns] : path.by_category) sum += ns;
    EXPECT_EQ(sum, path.span_ns);
    ASSERT_FALSE(path.places.empty());
    EXPECT_EQ(path.places[0].name,
              "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__");
  }
  EXPECT_EQ(*paths[3].step, 2);
  EXPECT_EQ(paths[3].span_ns, 3'999'000);
}

// Operators of 100 us with a launch at their end, 900 us of nothing between them.
TraceText far_apart() {
  TraceText text;
  for (int i = 0; i < 10; ++i) {
    const double at = i * 1'000;
    text.op(i % 2 == 0 ? "aten::mm" : "aten::add", at, 100);
    text.launched(at + 90, at + 100, 50, i + 1);
  }
  return text;
}

TEST(Price, APathChargesNoEventMoreThanItsLength) {
  const Analyzed report(far_apart());
  const auto replay = *report.replay;
  const auto path = critical_paths(*replay.model, false).at(0);
  EXPECT_GT(path.span_ns, 9'000'000);
  ASSERT_EQ(path.places.size(), 2u);
  // Five operators each, the last of them with its kernel.
  for (const auto& place : path.places) {
    EXPECT_LE(place.us, place.name == "aten::add" ? 5 * 100 + 50 : 5 * 100)
        << place.name;
  }
}

std::vector<std::uint32_t> ids(const trace::Trace& trace, std::string_view part) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t id = 0; id < trace.strings.size(); ++id) {
    if (trace.strings.view(id).find(part) != std::string_view::npos) out.push_back(id);
  }
  return out;
}

TEST(WhatIf, WithoutEditsIsTheRecording) {
  const Analyzed report(loading_steps());
  const auto& replay = *report.replay;
  const auto outcome = what_if(report, *replay.model, {});
  EXPECT_EQ(outcome.changed_span_ns, outcome.replayed_span_ns);
  EXPECT_EQ(outcome.gain.replayed, 0);
  ASSERT_EQ(outcome.steps.size(), 10u);
  EXPECT_EQ(outcome.steps[4].number, 4);
  EXPECT_EQ(outcome.steps[4].span_ns, 3'999'000);
  EXPECT_EQ(outcome.steps[4].changed_span_ns, outcome.steps[4].replayed_span_ns);
}

TEST(WhatIf, EditsByNameAddUpAsSets) {
  const auto trace = loading_steps().load();
  const auto report = analyze(trace);
  const auto& replay = *report.replay;
  const auto gain = [&](std::vector<Edit> edits) {
    return what_if(report, *replay.model, edits).gain.replayed;
  };
  const Edit load{EditKind::kHide, ids(trace, "DataLoader")};
  const Edit half{EditKind::kScale, ids(trace, "gemm"), 0.5};
  const Edit wait{EditKind::kDropWaits, ids(trace, "Synchronize")};
  EXPECT_EQ(gain({load}), 20'000'000);
  EXPECT_EQ(gain({load, load}), 20'000'000);
  EXPECT_EQ(gain({half}), 10 * 500'000);
  EXPECT_GT(gain({wait}), 0);
  EXPECT_GT(gain({load, half, wait}), gain({load, half}));
}

// A pageable copy, and the synchronization by which torch waits for it.
TEST(WhatIf, APinnedCopyIsNotWaitedForAtAll) {
  TraceText text;
  for (int i = 0; i < 10; ++i) {
    const auto at = i * 1000.0;
    text.op("aten::copy_", at, 560);
    text.launched(at, at + 8, 500, 3 * i + 1);
    text.call("cudaMemcpyAsync", at + 10, 540, 3 * i + 2);
    text.copy("Memcpy DtoH (Device -> Pageable)", at + 509.2, 34, 3 * i + 2, 400'000);
    text.call("cudaStreamSynchronize", at + 551, 5, 3 * i + 3);
    text.op("work", at + 560, 430);
  }
  const auto trace = text.load();
  const auto report = analyze(trace);
  const auto& replay = *report.replay;
  ASSERT_EQ(replay.refusal, "");
  const auto id = [&](std::string_view name) -> std::uint32_t {
    for (std::uint32_t i = 0; i < trace.columns.size(); ++i) {
      if (trace.name(i) == name) return trace.columns.name[i];
    }
    return 0;
  };
  const Edit pin{EditKind::kPin, {id("Memcpy DtoH (Device -> Pageable)")}};
  const auto pinned = what_if(report, *replay.model, std::vector{pin});
  EXPECT_GT(pinned.gain.replayed, 9 * 400'000);
  const Edit kernels{EditKind::kPin, {id("gemm")}};
  EXPECT_THROW(what_if(report, *replay.model, std::vector{kernels}),
               std::invalid_argument);
}

TEST(WhatIf, RefusesWhatMakesNoSense) {
  const auto trace = loading_steps().load();
  const auto report = analyze(trace);
  const auto& replay = *report.replay;
  const auto run = [&](Edit edit) {
    what_if(report, *replay.model, std::vector<Edit>{std::move(edit)});
  };
  EXPECT_THROW(run({EditKind::kScale, ids(trace, "gemm"), 1.5}), std::invalid_argument);
  EXPECT_THROW(run({EditKind::kScale, ids(trace, "gemm"), std::nan("")}),
               std::invalid_argument);
  EXPECT_THROW(run({EditKind::kFix, {999}}), std::invalid_argument);
  EXPECT_THROW(run({EditKind::kHide, {0xffffffff}}), std::invalid_argument);
  EXPECT_THROW(run({EditKind::kHide, ids(trace, "gemm")}), std::invalid_argument);
  EXPECT_THROW(run({EditKind::kScale, ids(trace, "DataLoader"), 0.5}),
               std::invalid_argument);
  EXPECT_THROW(edit_kind("remove"), std::invalid_argument);
  EXPECT_EQ(edit_kind("scale"), EditKind::kScale);
}

// What a caller throws at a checkpoint, wherever it comes, gets out as it is.
TEST(Price, EndsAtEachCheckpoint) {
  struct Ended {};
  const auto trace = loading_steps().load();
  const auto report = analyze(trace);
  const auto& replay = *report.replay;
  const std::vector<Edit> overlap{{EditKind::kOverlap, ids(trace, "gemm")}};
  const auto price = [&](const replay::Checkpoint& c) {
    Options options;
    options.checkpoint = c;
    analyze(trace, options);
  };
  const auto by_events = [&](const replay::Checkpoint& c) {
    what_if(report, *replay.model, overlap, c);
  };
  const auto count = [](const auto& work) {
    std::size_t passed = 0;
    work([&] { ++passed; });
    return passed;
  };
  EXPECT_GE(count(price), 2 + report.findings.size());  // stages, findings
  EXPECT_GE(count(by_events), 4u);                      // two schedules among them
  const auto ends_at_each = [&](const auto& work) {
    for (std::size_t last = 0; last < count(work); ++last) {
      std::size_t passed = 0;
      EXPECT_THROW(work([&] {
                     if (passed++ == last) throw Ended();
                   }),
                   Ended)
          << last;
    }
  };
  ends_at_each(price);
  ends_at_each(by_events);
}

}  // namespace
}  // namespace tta::pipeline

// SPDX-License-Identifier: BSD-3-Clause
// replay/test_properties.cpp: what holds for every trace and every change.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <random>

#include "replay/change.h"
#include "replay/samples.h"

namespace tta::replay {
namespace {

using test::Replayed;
using test::Rows;
using test::trace_text;

class Properties : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const auto found = trace_text(GetParam());
    if (!found) GTEST_SKIP() << "the public traces are not at hand";
    text = *found;
  }
  std::string text;
};

// When points of each kind were recorded and come to pass, in whatever order they have.
std::vector<std::array<std::int64_t, 3>> moments(const Replayed& r) {
  std::vector<std::array<std::int64_t, 3>> out;
  for (std::size_t i = 0; i < r.model.points.size(); ++i) {
    const auto& p = r.model.points[i];
    out.push_back({static_cast<std::int64_t>(p.kind), p.recorded, r.times[i]});
  }
  std::sort(out.begin(), out.end());
  return out;
}

// Points later than in the unchanged replay.
std::size_t later(const Replayed& r, const std::vector<std::int64_t>& weights) {
  const auto times = r.model.graph.schedule(weights);
  std::size_t n = 0;
  for (std::size_t i = 0; i < times.size(); ++i) n += times[i] > r.times[i];
  return n;
}

TEST_P(Properties, WhatTakesAwayDelaysNothing) {
  const Replayed r(text);
  for (const auto& kind : kEdgeKinds) {
    auto halved = r.model.graph.weights();
    for (std::size_t i = 0; i < halved.size(); ++i) {
      if (r.model.graph.edges()[i].kind == kind.id && halved[i] > 0) halved[i] /= 2;
    }
    EXPECT_EQ(later(r, halved), 0u) << kind.name;
  }
  std::mt19937 random(7);
  const auto& calls = r.model.calls.all;
  const auto& tasks = r.model.tasks.all;
  for (int round = 0; round < 20; ++round) {
    Change change;
    for (int k = 0; k < 5; ++k) {
      const auto& call = calls[random() % calls.size()];
      const timeline::Interval time{call.begin - 5'000, call.begin + 2'000'000};
      if (k % 2 == 0) change.hide(call.lane, time);
      if (k % 2 == 1) change.drop_waits(call.lane, time);
      const auto& less = tasks[random() % tasks.size()];
      change.shorten(less.row, {less.begin, less.begin + 50'000});
      change.untie(tasks[random() % tasks.size()].row);
      change.drop(tasks[random() % tasks.size()].row);
    }
    EXPECT_EQ(later(r, change.weights(r.model)), 0u) << round;
  }
}

TEST_P(Properties, NoChangeIsBitByBitTheSame) {
  const Replayed r(text);
  Change change;
  EXPECT_EQ(change.weights(r.model), r.model.graph.weights());
  for (const auto& task : r.model.tasks.all) change.shorten(task.row, {});
  EXPECT_EQ(r.model.graph.schedule(change.weights(r.model)), r.times);
  EXPECT_EQ(Replayed(text).times, r.times);
}

TEST_P(Properties, ShiftingAllTimesChangesNothing) {
  Rows rows(text);
  for (auto& row : rows.all) {
    const auto ts = test::value_of(row, "ts");
    if (ts.empty()) continue;
    const auto at = static_cast<std::size_t>(ts.data() - row.data());
    const auto whole = std::min(ts.find('.'), ts.size());
    const auto later = std::stoll(std::string(ts.substr(0, whole))) + 123'456'789;
    row.replace(at, whole, std::to_string(later));
  }
  const Replayed before(text), after(rows.text());
  EXPECT_EQ(after.model.begin - before.model.begin, 123'456'789'000);
  EXPECT_EQ(moments(after), moments(before));
}

TEST_P(Properties, TheOrderOfRowsChangesNothing) {
  Rows rows(text);
  std::shuffle(rows.all.begin(), rows.all.end(), std::mt19937(5));
  const Replayed before(text), after(rows.text());
  EXPECT_EQ(moments(after), moments(before));
  EXPECT_EQ(after.span_error(kNullWithout), before.span_error(kNullWithout));
}

INSTANTIATE_TEST_SUITE_P(
    Traces, Properties,
    testing::Values("kineto2021-v100-resnet50-workers4", "h100-vit-nsfw-inference",
                    "mi250-rocm62-tiny", "mi300-torch-compile-triton",
                    "a100-event-sync-3streams-tiny", "h100-qwen0.5b-chat",
                    "b300-sglang-qwen3-moe-decode", "mi300x8-resnet-ddp-rccl-rank0of8",
                    "v100x2-nccl-rank1of2-test"),
    [](const auto& info) {
      std::string name = info.param;
      std::erase_if(name, [](char c) { return c == '-' || c == '.'; });
      return name;
    });

}  // namespace
}  // namespace tta::replay

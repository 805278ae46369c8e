// SPDX-License-Identifier: BSD-3-Clause
// Real traces, replayed, with parts of the model left out, cut, or begun too late.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "replay/accept.h"
#include "replay/change.h"
#include "replay/gain.h"
#include "replay/samples.h"
#include "support/says.h"
#include "support/trace_text.h"

namespace tta::replay {
namespace {

using test::is_call;
using test::is_device_work;
using test::number_of;
using test::Replayed;
using test::Rows;
using test::says;
using test::trace_text;
using test::TraceText;
using test::value_of;

#define TTA_TRACE_OR_SKIP(variable, name) \
  const auto variable = trace_text(name); \
  if (!variable) GTEST_SKIP() << name << ": the public traces are not available"

// What is replayable, and that it is: of a trace that means something, ten times nearer
// than a replay without waits and order.
class Replayable : public testing::TestWithParam<const char*> {};

TEST_P(Replayable, AndBetterThanTheNullReplay) {
  TTA_TRACE_OR_SKIP(text, GetParam());
  const Replayed r(*text);
  const auto f = judge(r.model);
  EXPECT_TRUE(f.replayable) << (f.refusals.empty() ? "" : f.refusals[0].detail);
  const auto model = std::abs(r.span_error());
  const auto null = std::abs(r.span_error(kNullWithout));
  EXPECT_EQ(f.informative, null > 0.02);
  if (f.informative) {
    EXPECT_LT(10 * model, null);
  }
  EXPECT_LT(std::abs(error({f.span.recorded, f.span_by_rules})), 0.01)
      << "without the delays that are kept";
  EXPECT_LT(static_cast<double>(f.long_waits.error),
            0.05 * static_cast<double>(f.long_waits.recorded) + 1);
  const Replayed fixed(*text, test::by_constants());
  EXPECT_LT(std::abs(fixed.span_error()), 0.025) << "by the constants alone";
}

std::string word(const testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  std::erase_if(name, [](char c) { return c == '-' || c == '.'; });
  return name;
}

INSTANTIATE_TEST_SUITE_P(
    Traces, Replayable,
    testing::Values(
        "a100-qlora-bitsandbytes", "a100x8-megatron-tp8-rank0of8",
        "a100x8-megatron-tp8-rank3of8", "mi300-sglang-decode-graph",
        "a100x8-nccl-process-groups-rank0of2", "a100x8-nccl-rank3of8-control",
        "amd-vllm-decode-graph-noname", "amd-vllm-piecewise-graph",
        "mi300-sglang-prefill-decode", "mi300x8-resnet-ddp-rccl-rank0of8",
        "b200x8-vllm-eager-python-stacks-rank0of8", "b300-sglang-deepseek-r1-decode",
        "b300-sglang-qwen3-moe-decode", "gp100-gpu-user-annotation",
        "h100-owlv2-large-55MB", "h100-qwen0.5b-chat", "h100-vit-nsfw-inference",
        "kineto2021-listform-toplevel", "kineto2021-resnet50-autograd-catnames",
        "kineto2021-v100-resnet50-workers0-memory", "kineto2021-v100-resnet50-workers4",
        "mi210-gpu-activities-only", "mi300-normalization-microbench",
        "mi300-owlv2-large-61MB", "mi300-qwen0.5b-chat", "mi300-vit-nsfw-inference",
        "mi300-xdit-sd35-62MB", "rtx3060-training-compiled", "rtx3060-training-graphs",
        "rtx3060-training-graphs-large", "rtx3060ti-training-step-filtered",
        "rtx3060ti-training-step-stacks", "rtx4090x2-llama-tp-rank0of2",
        "rtx4090x2-llama-tp-rank1of2", "rtxa4000-vision-no-cpu-ops",
        "v100-ns-timestamps-rank0of1", "v100x2-nccl-allreduce-heavy-rank1of2-53MB",
        "v100x2-nccl-rank1of2-test"),
    word);

// Waits and starts that nothing in the trace explains: what does not rest on them has
// its gain.
TEST(Real, TracesWithDelaysAreReplayableWithThemKept) {
  for (const char* name :
       {"a100x8-megatron-tp8-rank1of8", "a100x8-megatron-tp8-rank5of8",
        "rtx4090x2-llama-tp-shapes-rank0of2", "rtx4090x2-one-collective-rank0of2",
        "rtxa4000-vision-12s-no-cpu-ops"}) {
    const auto text = trace_text(name);
    if (!text) continue;
    const auto f = judge(Replayed(*text).model);
    EXPECT_TRUE(f.replayable) << name;
    EXPECT_LT(std::abs(error(f.span)), 0.001) << name;
    EXPECT_GT(f.unexplained_ns + f.long_waits.error, 1'000'000) << name;
  }
}

struct Refused {
  const char* trace;
  std::set<std::string> kinds;
};

TEST(Real, TracesThatAreNotWholeAreRefused) {
  const Refused all[] = {
      {"nccl-rank000of128-sampled", {"unexplained_starts"}},
      {"nccl-rank001of128-sampled", {"unexplained_starts"}},
      {"truncated-handmade-no-schema", {"lost_work", "launches"}},
  };
  for (const auto& [name, kinds] : all) {
    const auto text = trace_text(name);
    if (!text) continue;
    const auto f = judge(Replayed(*text).model);
    EXPECT_FALSE(f.replayable) << name;
    std::set<std::string> found;
    for (const auto& r : f.refusals) found.insert(r.kind);
    EXPECT_EQ(found, kinds) << name;
  }
}

TEST(Real, WithoutSynchronizationsAHostRunsAway) {
  for (const char* name : {"h100-owlv2-large-55MB", "mi300-owlv2-large-61MB"}) {
    TTA_TRACE_OR_SKIP(text, name);
    const Replayed r(*text);
    EXPECT_LT(r.span_error(bit(EdgeKind::kSync)), r.span_error() - 0.1) << name;
  }
}

TEST(Real, WithoutOrderOnStreamsADeviceRunsAway) {
  TTA_TRACE_OR_SKIP(text, "h100-qwen0.5b-chat");
  const Replayed r(*text);
  EXPECT_LT(r.span_error(bit(EdgeKind::kFifo)), r.span_error() - 0.3);
}

TEST(Real, TheResnetPairNeedsSynchronizationsAndOrder) {
  TTA_TRACE_OR_SKIP(text, "kineto2021-v100-resnet50-workers4");
  const Replayed r(*text);
  EXPECT_LT(std::abs(r.span_error()), 0.001);
  EXPECT_LT(r.span_error(bit(EdgeKind::kSync)), -0.05);
  EXPECT_LT(r.span_error(bit(EdgeKind::kFifo)), -0.005);
}

// The stream that each stream sync waited for, by the call's begin.
std::map<std::int64_t, std::int64_t> synced(const Replayed& r, Provenance from) {
  std::map<std::int64_t, std::int64_t> out;
  for (const auto& w : r.model.sync_calls) {
    const auto& call = r.model.calls.all[w.call];
    if (call.kind != CallKind::kStreamSync || w.provenance != from) continue;
    if (w.targets.size() != 1) continue;
    const auto lane = r.model.tasks.streams[r.model.tasks.all[w.targets[0]].stream];
    out[call.begin] = r.timeline.lanes.lanes[lane].stream;
  }
  return out;
}

TEST(Real, GuessedStreamsAreTheRecordedOnes) {
  TTA_TRACE_OR_SKIP(text, "a100-alexnet-43s-span-sync");
  const auto recorded = synced(Replayed(*text), Provenance::kRecorded);
  EXPECT_EQ(recorded.size(), 16u);
  Rows rows(*text);
  EXPECT_EQ(rows.drop([](auto& row) { return value_of(row, "cat") == "cuda_sync"; }),
            41u);
  EXPECT_EQ(synced(Replayed(rows.text()), Provenance::kSemantic), recorded);
}

TEST(Real, HandOversAreTheThreadsOfAutogradWithoutItsFlows) {
  TTA_TRACE_OR_SKIP(text, "kineto2021-v100-resnet50-workers0-memory");
  const auto pairs = [](const Replayed& r) {
    std::map<std::pair<std::int64_t, std::int64_t>, int> out;
    for (const auto& h : r.model.hand_overs) {
      const auto& lanes = r.timeline.lanes.lanes;
      ++out[{lanes[h.from].tid, lanes[h.to].tid}];
    }
    return out;
  };
  Rows rows(*text);
  const Replayed with(*text);
  std::set<std::pair<std::int64_t, std::int64_t>> flows;
  std::map<std::string, std::int64_t> begun;
  for (const auto& row : rows.all) {
    const auto name = value_of(row, "name");
    if (value_of(row, "cat") != "fwdbwd" && name != "fwdbwd") continue;
    const std::string id(value_of(row, "id"));
    const auto tid = static_cast<std::int64_t>(test::number_of(row, "tid"));
    if (value_of(row, "ph") == "s") begun[id] = tid;
    if (value_of(row, "ph") == "f") flows.emplace(begun.at(id), tid);
  }
  rows.drop([](auto& row) {
    return value_of(row, "cat") == "fwdbwd" || value_of(row, "name") == "fwdbwd";
  });
  const auto found = pairs(with);
  EXPECT_EQ(found, pairs(Replayed(rows.text())));
  ASSERT_EQ(found.size(), 2u) << "there and back";
  for (const auto& pair : flows) {
    EXPECT_TRUE(found.contains(pair)) << pair.first << " -> " << pair.second;
    EXPECT_EQ(found.at(pair), 6) << "one a step";
  }
}

// All that the main thread waited for its loader.
Change without_loader(const Replayed& r) {
  Change change;
  const auto& c = r.timeline.columns();
  for (std::uint32_t row = 0; row < c.size(); ++row) {
    if (!r.trace.name(row).starts_with("enumerate(DataLoader)")) continue;
    change.skip(r.timeline.lanes.lane[row], {c.ts[row], c.end(row)});
  }
  return change;
}

TEST(Real, AModelWithoutHandOversIsFoundOut) {
  TTA_TRACE_OR_SKIP(text, "kineto2021-v100-resnet50-workers0-memory");
  ModelOptions options;
  for (const bool hand_overs : {true, false}) {
    options.hand_overs = hand_overs;
    const Replayed r(*text, options);
    EXPECT_LT(std::abs(r.span_error()), 0.001) << "unchanged, both are as exact";
    const Pricer pricer(r.model);
    const auto doubt = pricer.longer_step(pricer.replay(without_loader(r)));
    EXPECT_EQ(doubt.has_value(), !hand_overs);
    EXPECT_EQ(doubt ? doubt->kind : "hand_over", "hand_over");
  }
}

bool launches(const std::string& row) {
  return is_call(row) && value_of(row, "name").find("LaunchKernel") != row.npos;
}

std::string kinds(const Fidelity& f) {
  std::string out;
  for (const auto& r : f.refusals) out += r.kind + " ";
  return out;
}

class Cut : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const auto found = trace_text(GetParam());
    if (!found) GTEST_SKIP() << "the public traces are not available";
    rows.emplace(*found);
    ASSERT_TRUE(judge(Replayed(rows->text()).model).replayable);
  }
  std::optional<Rows> rows;
};

TEST_P(Cut, ATenthOfTheLaunches) {
  ASSERT_GT(rows->drop_tenth(launches), 0u);
  const auto f = judge(Replayed(rows->text()).model);
  EXPECT_FALSE(f.replayable);
  EXPECT_TRUE(says(kinds(f), "launches"));
}

TEST_P(Cut, ATenthOfTheDeviceWork) {
  ASSERT_GT(rows->drop_tenth(is_device_work), 0u);
  const auto f = judge(Replayed(rows->text()).model);
  EXPECT_FALSE(f.replayable);
  EXPECT_TRUE(says(kinds(f), "lost_work"));
}

TEST_P(Cut, AThreadThatLaunches) {
  std::map<std::string, int> by_thread;
  for (const auto& row : rows->all) {
    if (launches(row)) ++by_thread[std::string(value_of(row, "tid"))];
  }
  for (const auto& [tid, count] : by_thread) {
    if (count < 100) continue;
    auto cut = *rows;
    cut.drop([&](auto& row) {
      return !is_device_work(row) && value_of(row, "tid") == tid &&
             value_of(row, "ph") == "X";
    });
    const auto f = judge(Replayed(cut.text()).model);
    EXPECT_FALSE(f.replayable) << tid;
    EXPECT_TRUE(says(kinds(f), "launches"));
  }
}

INSTANTIATE_TEST_SUITE_P(Traces, Cut,
                         testing::Values("kineto2021-v100-resnet50-workers4",
                                         "h100-vit-nsfw-inference",

                                         "mi300-vit-nsfw-inference",
                                         "v100-ns-timestamps-rank0of1"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::erase_if(name, [](char c) { return c == '-'; });
                           return name;
                         });

TEST(Damage, TheSmallestThingsAreTold) {
  // Two in thirty launches of which nothing ran: 6.7 %.
  TraceText t;
  for (int i = 0; i < 30; ++i) {
    t.call("cudaLaunchKernel", 50 * i, 5, i + 1);
    if (i != 7 && i != 15) t.kernel(50 * i + 8, 5, i + 1);
  }
  EXPECT_EQ(kinds(judge(Replayed(t.text()).model)), "lost_work ");
}

TEST(Damage, LaunchesOfWhichNothingIsRecordedAreALoss) {
  const auto text = trace_text("a100-cupti-range-no-kernels");
  ASSERT_TRUE(text);
  const auto f = judge(Replayed(*text).model);
  EXPECT_EQ(f.launch_calls, 77u);
  EXPECT_EQ(kinds(f), "lost_work lost_copies ");
}

TEST(Damage, ATraceOfTheHostAloneLosesNothing) {
  const auto text = trace_text("cpu-macos-resnet18");
  ASSERT_TRUE(text);
  EXPECT_TRUE(judge(Replayed(*text).model).replayable);
}

TEST(Damage, ACaptureRunsNothingAndTheLastLaunchesMayNotHaveRun) {
  TraceText t;
  t.call("cudaStreamBeginCapture", 0, 5, 1000);
  for (int i = 0; i < 30; ++i) t.call("cudaLaunchKernel", 10 + 10 * i, 5, i + 1);
  t.call("cudaStreamEndCapture", 400, 5, 1001);
  for (int i = 0; i < 30; ++i) t.launched(1000 + 50 * i, 1008 + 50 * i, 5, 100 + i);
  for (int i = 0; i < 30; ++i) t.call("cudaLaunchKernel", 2600 + 10 * i, 5, 200 + i);
  const auto f = judge(Replayed(t.text()).model);
  EXPECT_EQ(f.launch_calls, 30u);
  EXPECT_EQ(f.launch_calls_without_work, 0u);
  EXPECT_TRUE(f.replayable) << kinds(f);
}

// 60 kernels of 100 us, launched in advance; the trace begins when 40 calls are over.
TraceText begun_late() {
  TraceText t;
  for (int i = 0; i < 20; ++i) t.call("cudaLaunchKernel", 10 * i, 5, 1041 + i);
  for (int i = 0; i < 60; ++i) t.kernel(5 + 100 * i, 100, 1001 + i);
  t.call("cudaDeviceSynchronize", 300, 5'713, 1100);
  return t;
}

TEST(Damage, WorkFromBeforeTheTraceIsKnownByItsIds) {
  const Replayed r(begun_late().text());
  const auto f = judge(r.model);
  EXPECT_EQ(f.queued_before, 40u);
  EXPECT_EQ(f.launched, 20u);
  EXPECT_EQ(r.model.anchored_tasks, 1u) << "the rest waits for the first";
  EXPECT_TRUE(f.replayable) << kinds(f);
}

TEST(Damage, WorkWithoutALaunchLaterOnIsNot) {
  auto t = begun_late();
  t.kernel(9'000, 10, 5'000, "lost", 33);
  const Replayed r(t.text());
  EXPECT_EQ(judge(r.model).queued_before, 40u);
  EXPECT_FALSE(r.task("lost").queued_before);
}

TEST(Damage, WhatWasQueuedAndStartsLateHangsOnWhatIsNotThere) {
  // The first call is recorded at 0; work with a lower id waits until 3000.
  TraceText t;
  t.kernel(1, 100, 10, "a").kernel(3'000, 100, 11, "b");
  for (int i = 0; i < 20; ++i) {
    t.launched(10 * i, 3'101 + 1'001 * i, 1'000, 20 + i);
  }
  t.call("cudaDeviceSynchronize", 300, 22'830, 100);
  const Replayed r(t.text());
  const auto f = judge(r.model);
  EXPECT_EQ(r.model.anchored_tasks, 2u);
  EXPECT_EQ(r.starts("b"), r.model.points[r.task("b").start_point].recorded);
  EXPECT_EQ(f.unexplained_ns, 0);
  EXPECT_EQ(f.anchored_ns, 3'000'000);
  EXPECT_EQ(kinds(f), "");
}

TEST(Damage, ATraceThatBeginsInAStepSaysSo) {
  const auto text = trace_text("v100-ns-timestamps-rank0of1");
  if (!text) GTEST_SKIP() << "the public traces are not at hand";
  Rows rows(*text);
  double begin = 0, end = 0;  // of the third step
  int steps = 0;
  for (const auto& row : rows.all) {
    if (value_of(row, "name").starts_with("ProfilerStep#") && !is_device_work(row) &&
        value_of(row, "cat") == "user_annotation" && ++steps == 3) {
      begin = number_of(row, "ts");
      end = begin + number_of(row, "dur");
    }
  }
  ASSERT_GT(end, begin);
  const auto middle = (begin + end) / 2;
  rows.drop([&](auto& row) { return number_of(row, "ts") < middle; });
  const Replayed r(rows.text());
  const auto f = judge(r.model);
  EXPECT_GT(f.queued_before, 100u);
  EXPECT_GT(r.model.anchored_tasks, 0u);
  EXPECT_FALSE(says(kinds(f), "launches"));
}

}  // namespace
}  // namespace tta::replay

// SPDX-License-Identifier: BSD-3-Clause
// Names of serving engines' scopes, and which work belongs to which step.
#include "timeline/engine_time.h"

#include <gtest/gtest.h>

#include <string>

#include "support/trace_text.h"

namespace tta::timeline {
namespace {

using test::TraceText;

std::string read(std::string_view name) {
  const auto scope = engine_scope_of(name);
  if (!scope) return "none";
  return std::string(scope->engine) + " " +
         std::string(words_of(scope->kind)[static_cast<std::size_t>(scope->kind)]) +
         " " + std::to_string(scope->batch) + "/" +
         std::to_string(scope->padded_batch) + " " + std::to_string(scope->tokens) +
         " " + std::to_string(scope->context_tokens);
}

TEST(EngineSteps, NamesOfEachEngine) {
  const struct {
    const char *name, *means;
  } cases[] = {
      {"execute_context_0(0)_generation_32(32)", "vLLM decode 32/-1 32 -1"},
      {"execute_context_1(888_788544)_generation_0(0)", "vLLM extend 1/-1 888 -1"},
      {"execute_8192_context_9(sq8155sk8430sqsq7sqsk8)_generation_37("
       "sq37sk34489sqsq3sqsk4)",
       "vLLM mixed 46/-1 8192 42919"},
      {"execute_context_0(0)_generation_8(40)", "vLLM verify 8/-1 40 -1"},
      {"step[3]", "none"},
      {"step[IDLE]", "none"},
      {"execute_new_2_cached_30", "vLLM mixed 32/-1 -1 -1"},
      {"step[EXTEND bs=2 toks=14721]", "SGLang extend 2/-1 14721 -1"},
      {"step[DECODE bs=64]", "SGLang decode 64/-1 -1 -1"},
      {"step[TARGET_VERIFY bs=23]", "SGLang verify 23/-1 -1 -1"},
      {"step[DRAFT_EXTEND bs=23]", "SGLang draft 23/-1 -1 -1"},
      {"step[IDLE bs=0]", "SGLang other 0/-1 -1 -1"},
      {"draft_extend", "SGLang draft -1/-1 -1 -1"},
      {"EAGLE_VERIFY", "SGLang verify -1/-1 -1 -1"},
      {"draft_model", "none"},
      {"prefill[bs=2 tok=14721 ctx=20000]", "ATOM extend 2/-1 14721 20000"},
      {"decode[bs=117/128 tok=117 d=117]", "ATOM decode 117/128 117 -1"},
      {"execute_model", "none"},
      {"execute_context_x(1)_generation_2(2)", "none"},
      {"execute_context_1(1)", "none"},
      {"execute_new_99999999999999999999_cached_1", "none"},
      {"decode[everything]", "none"},
      {"steps", "none"},
  };
  for (const auto& one : cases) EXPECT_EQ(read(one.name), one.means) << one.name;
}

// Work belongs to the step of its launch: what a step launched runs after its scope,
// and what is launched after the scope (sampling) is its own until the next one begins.
TEST(EngineSteps, WorkByItsLaunch) {
  const auto trace =
      TraceText()
          .note("execute_32_context_0(sq0sk0)_generation_32(sq32sk99)", 0, 200)
          .note("step[DECODE bs=32]", 10, 100)
          .launched(20, 300, 500, 1)
          .launched(250, 800, 50, 2)  // After the scope.
          .note("step[DECODE bs=33]", 1000, 100)
          .call("cudaGraphLaunch", 1010, 20, 3)
          .kernel(1100, 10, 3)
          .kernel(1150, 10, 3)
          .launched(5000, 5010, 5, 4)  // After the last step.
          .load();
  const auto t = make_timeline(trace);
  const auto steps = list_engine_steps(t);
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].scope.engine, "SGLang");
  EXPECT_EQ(steps[0].scope.batch, 32);
  EXPECT_EQ(steps[0].scope.context_tokens, 99) << "the outer scope knows";
  EXPECT_EQ(steps[0].work.size(), 2u);
  EXPECT_EQ(steps[0].device, (Interval{300'000, 850'000}));
  EXPECT_EQ(steps[0].period, (Interval{0, 1'000'000}));
  EXPECT_EQ(steps[1].work.size(), 2u);
  EXPECT_EQ(steps[1].graph_launches, 1u);
  EXPECT_TRUE(steps[1].is_last);
}

// Each thread has its own steps, and what prepares the next step is that one's: it
// comes after the longest pause.
TEST(EngineSteps, ThreadsAndPreparation) {
  TraceText text;
  for (int tid = 1; tid <= 2; ++tid) {
    for (int i = 0; i < 2; ++i) {
      const double at = 1000 * i + 500 * (tid - 1);
      const auto id = 10 * (2 * i + tid);
      text.note("step[DECODE bs=" + std::to_string(tid) + "]", at, 100, tid);
      text.call("cudaLaunchKernel", at + 10, 5, id, tid)
          .kernel(at + 20, 200, id, "gemm", 6 + tid);
      text.call("cudaLaunchKernel", at + 150, 5, id + 1, tid)
          .kernel(at + 225, 10, id + 1, "argmax", 6 + tid);
      text.call("cudaLaunchKernel", at + 900, 5, id + 2, tid)
          .kernel(at + 910, 10, id + 2, "prepare", 6 + tid);
    }
  }
  const auto trace = text.load();
  const auto t = make_timeline(trace);
  const auto steps = list_engine_steps(t);
  ASSERT_EQ(steps.size(), 4u);
  EXPECT_EQ(steps[0].work.size(), 2u);
  EXPECT_EQ(steps[0].device, (Interval{20'000, 235'000}));
  EXPECT_EQ(steps[1].work.size(), 2u) << "with what prepared it, without its sampling";
  EXPECT_EQ(steps[1].device, (Interval{1'020'000, 1'220'000})) << "from the product on";
  EXPECT_EQ(steps[2].scope.batch, 2);
  EXPECT_EQ(steps[2].device, (Interval{520'000, 735'000}));
}

// EAGLE of SGLang: the draft model proposes, the model verifies, and the draft goes on
// from that; the scheduler works after it.
TEST(EngineSteps, PassesOfTheDraftBelongToTheOneThatVerifies) {
  TraceText text;
  text.note("step[EXTEND bs=2 toks=500]", 0, 50).launched(10, 20, 30, 1);
  text.note("draft_extend", 60, 10).launched(62, 64, 4, 2);
  int id = 2;
  for (int i = 1; i < 4; ++i) {
    const double at = 100 * i;
    text.note("draft", at, 20).note("step[DECODE bs=4]", at + 1, 15);
    text.launched(at + 2, at + 10, 8, ++id);
    text.note("EAGLE_VERIFY", at + 22, 18)
        .note("step[TARGET_VERIFY bs=4]", at + 23, 15);
    text.launched(at + 24, at + 25, 20, ++id);
    text.note("step[DRAFT_EXTEND bs=4]", at + 50, 10)
        .launched(at + 52, at + 54, 4, ++id);
  }
  text.note("step[DECODE bs=4]", 500, 10).launched(502, 504, 4, ++id);
  const auto trace = text.load();
  const auto t = make_timeline(trace);
  const auto steps = list_engine_steps(t);
  ASSERT_EQ(steps.size(), 5u);
  EXPECT_EQ(steps[0].scope.kind, EngineStepKind::kExtend);
  EXPECT_EQ(steps[0].host, (Interval{0, 70'000}));
  for (int i = 1; i < 4; ++i) {
    const std::int64_t at = 100'000 * i;
    EXPECT_EQ(steps[i].scope.kind, EngineStepKind::kVerify);
    EXPECT_EQ(steps[i].scope.batch, 4);
    EXPECT_EQ(steps[i].host, (Interval{at, at + 60'000}));
    EXPECT_EQ(steps[i].device, (Interval{at + 10'000, at + 58'000}));
    EXPECT_EQ(steps[i].drafts,
              (IntervalSet{{at, at + 20'000}, {at + 50'000, at + 60'000}}));
    EXPECT_EQ(steps[i - 1].period.end, at);
  }
  EXPECT_EQ(steps[4].scope.kind, EngineStepKind::kDecode) << "no draft's";
  // Ranges of another program that are called the same.
  const auto other = TraceText().note("draft", 0, 50).launched(10, 20, 30, 1).load();
  EXPECT_TRUE(list_engine_steps(make_timeline(other)).empty());
}

// A pass begins with its first product, or the graph that has it: not with the copies
// of its inputs, a vision encoder's or a draft's graph behind an eager pass.
TEST(EngineSteps, WhereAPassBeginsOnTheDevice) {
  const auto begin = [](bool in_graph) {
    TraceText text;
    text.note("step[DECODE bs=4]", 0, 100);
    text.call("cudaLaunchKernel", 1, 2, 1).kernel(10, 2, 1, "arange");
    text.call(in_graph ? "cudaGraphLaunch" : "cudaLaunchKernel", 5, 5, 2);
    text.kernel(20, 3, 2, "rms_norm").kernel(30, 40, 2, "gemm");
    text.call("cudaGraphLaunch", 60, 5, 3).kernel(80, 5, 3, "gemm");
    const auto trace = text.load();
    return list_engine_steps(make_timeline(trace)).at(0).device;
  };
  EXPECT_EQ(begin(true), (Interval{20'000, 85'000}));
  EXPECT_EQ(begin(false), (Interval{30'000, 85'000}));
}

// The device idles from 200 to 900 us.
TEST(EngineSteps, GapsAreDividedByTheInnermostKnownName) {
  auto text =
      TraceText()
          .note("step[DECODE bs=4]", 0, 100)
          .launched(10, 100, 100, 1)
          .python("sglang/scheduler.py(1): process_batch_result_decode", 150, 250)
          .python("sglang/scheduler.py(2): helper", 160, 220)
          .call("cudaEventSynchronize", 170, 80, 2)  // 50 of 200 to 250
          .python("sglang/scheduler.py(3): get_next_batch_to_run", 400, 100)
          .python("sglang/scheduler.py(4): run_batch", 600, 300)
          .python("sglang/forward_batch_info.py(5): init_new", 650, 150)
          .note("step[DECODE bs=4]", 800, 90)
          .launched(860, 900, 50, 3)
          .load();
  const auto t = make_timeline(text);
  const auto steps = list_engine_steps(t);
  ASSERT_EQ(steps.size(), 2u);
  const auto parts = divide_gap(t, steps[0], steps[1]);
  // scheduling, preparation, sampling, output, waiting, launch, other, unrecorded
  EXPECT_EQ(parts, (std::array<std::int64_t, 8>{100'000, 150'000, 50'000, 150'000, 0,
                                                40'000, 110'000, 100'000}));
  EXPECT_EQ(divide_gap(t, steps[1], steps[0]), (std::array<std::int64_t, 8>{}));
}

// Steps whose device work follows that of the one before without a gap; `ahead`: the
// host is one step ahead, as with SGLang's overlap schedule.
struct Served : TraceText {
  double at = 10, host = 0;
  bool ahead = false;
  int id = 0;
  Served& step(const std::string& name, double device, int count = 1) {
    for (int i = 0; i < count; ++i) {
      note(name, ahead ? host : at - 3, 2);
      launched(ahead ? host + 1 : at - 2, at, device, ++id);
      host = at;  // The step before has ended.
      at += device;
    }
    return *this;
  }
};

TEST(EngineSteps, WaitsForThePromptsOfOthers) {
  for (const bool ahead : {false, true}) {
    Served text;
    text.ahead = ahead;
    text.step("step[EXTEND bs=8 toks=9]", 90);  // No request waits for the first.
    text.step("step[DECODE bs=8]", 10, 4);
    text.step("step[EXTEND bs=1 toks=9]", 30).step("step[EXTEND bs=1 toks=9]", 40);
    text.step("step[DECODE bs=10]", 10, 2);
    text.step("step[EXTEND bs=1 toks=9]", 25);  // Not more than three periods.
    text.step("step[DECODE bs=9]", 10);
    text.step("step[MIXED bs=9]", 50).step("step[DECODE bs=9]", 10);
    text.step("step[EXTEND bs=4 toks=9]", 90);  // All others have their answers.
    text.step("step[DECODE bs=4]", 10);
    const auto trace = text.load();
    const auto t = make_timeline(trace);
    const auto waits = list_prompt_waits(list_engine_steps(t));
    ASSERT_EQ(waits.size(), 2u) << ahead;
    EXPECT_EQ(waits[0].before, 4u);
    EXPECT_EQ(waits[0].first, 5u);
    EXPECT_EQ(waits[0].last, 6u);
    EXPECT_FALSE(waits[0].mixed);
    EXPECT_EQ(waits[0].usual_ns, 10'000);
    EXPECT_EQ(waits[0].extra_ns, 70'000);
    EXPECT_TRUE(waits[1].mixed);
    EXPECT_EQ(waits[1].extra_ns, 40'000);
  }
}

// A kernel of another stream slipped in; the first of the step waits for what was
// queued before the recording, until 50 ms.
TEST(EngineSteps, TheHeadBeforeTheCutIsInNoSpan) {
  const auto text = TraceText()
                        .note("step[DECODE bs=32]", 0, 200)
                        .launched(10, 20, 4, 1, 3)
                        .launched(100, 50'000, 500, 2)
                        .launched(150, 50'500, 500, 3);
  const auto trace = text.load();
  const auto t = make_timeline(trace);
  // The 4 us are kept, right before the cut.
  EXPECT_EQ(t.span, (Interval{49'996'000, 51'000'000}));
  EXPECT_EQ(t.head, (Interval{0, 49'996'000}));
  ASSERT_EQ(t.devices.size(), 1u);
  EXPECT_EQ(t.devices[0].busy_ns, 1'004'000);
  EXPECT_EQ(t.devices[0].busy, (IntervalSet{t.span}));
  EXPECT_TRUE(t.devices[0].gaps.empty());
  // Launched late, by a host that was busy: idle, and known to be.
  const auto late = TraceText()
                        .note("step[DECODE bs=32]", 0, 50'200)
                        .launched(10, 20, 4, 1, 3)
                        .launched(49'900, 50'000, 500, 2)
                        .load();
  EXPECT_EQ(make_timeline(late).span.begin, 0);
  // A device that was waited for is free, whatever its next work waits for.
  const auto drained = TraceText()
                           .call("cudaDeviceSynchronize", 0, 90, 9)
                           .launched(100, 50'000, 500, 2)
                           .load();
  EXPECT_EQ(make_timeline(drained).span.begin, 0);
  EXPECT_EQ(make_timeline(late).head.length(), 0);
}

}  // namespace
}  // namespace tta::timeline

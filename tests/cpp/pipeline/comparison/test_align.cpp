// SPDX-License-Identifier: BSD-3-Clause
// Two small programs, operator by operator: which parts of them are one row.
#include "pipeline/comparison/align.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "pipeline/analyzed.h"

namespace tta::pipeline {
namespace {

// A program of one thread, call after call.
class Program {
 public:
  // An operator that launches kernels of these lengths, in us.
  Program& op(const std::string& name, const std::vector<double>& us = {10},
              const std::string& args = "", const std::string& kernel = "") {
    return within(
        name,
        [&] {
          for (const auto length : us) launch(length, kernel.empty() ? name : kernel);
        },
        "cpu_op", args);
  }
  Program& launch(double us, const std::string& kernel) {
    device_ = std::max(device_, at_ + 10);
    text.launched(at_, device_, us, correlation_++, 7, kernel);
    device_ += us;
    at_ += 10;
    return *this;
  }
  Program& within(const std::string& name, const std::function<void()>& body,
                  const std::string& cat = "python_function",
                  const std::string& args = "") {
    const auto start = at_;
    ++at_;
    body();
    ++at_;
    text.host(cat, name, start, at_ - start, args);
    at_ += 2;
    return *this;
  }

  TraceText text;

 private:
  double at_ = 0, device_ = 0;
  int correlation_ = 1;
};

std::int64_t busy_of(const Report& report) {
  return std::accumulate(report.timeline->devices.begin(),
                         report.timeline->devices.end(), std::int64_t{0},
                         [](auto sum, const auto& d) { return sum + d.busy_ns; });
}

// Aligns two traces, and checks that each moment is in one row.
Alignment aligned(const TraceText& before, const TraceText& after) {
  const Analyzed was(before), now(after);
  const auto out = align(make_call_tree(was), make_call_tree(now));
  std::int64_t of_before = 0, of_after = 0;
  for (const auto& row : out.rows) {
    EXPECT_TRUE(row.before || row.after);
    of_before += row.before ? row.before->device_ns : 0;
    of_after += row.after ? row.after->device_ns : 0;
  }
  EXPECT_EQ(of_before, out.before_ns);
  EXPECT_EQ(of_after, out.after_ns);
  const auto units = [&](const Report& report) {
    const auto steps = out.per_step ? report.steps.size() : 1;
    return static_cast<std::int64_t>(
        steps * std::max<std::size_t>(1, report.timeline->devices.size()));
  };
  EXPECT_EQ(out.before_ns, busy_of(was) / units(was));
  EXPECT_EQ(out.after_ns, busy_of(now) / units(now));
  return out;
}
Alignment aligned(const Program& before, const Program& after) {
  return aligned(before.text, after.text);
}

// "Attention: aten::bmm 20 | aten::sdpa 8": path, then name and microseconds by side.
std::string shown(const AlignedOperator& row) {
  std::string out;
  for (const auto& name : row.path) out += name + ": ";
  const auto side = [](const std::optional<AlignedSide>& s) {
    return s ? s->name + " " + std::to_string(s->device_ns / 1000) : "-";
  };
  return out + side(row.before) + " | " + side(row.after);
}

std::vector<std::string> shown(const Alignment& alignment) {
  std::vector<std::string> out;
  for (const auto& row : alignment.rows) out.push_back(shown(row));
  std::ranges::sort(out);
  return out;
}

using Rows = std::vector<std::string>;

TEST(Align, AFusedOperatorIsARowWithItsParts) {
  Program fused, unfused;
  fused.within("nn.Module: Attention_3", [&] {
    fused.op("aten::linear").op("aten::flash", {20}).op("aten::add");
  });
  unfused.within("nn.Module: Attention_0", [&] {
    unfused.op("aten::linear").op("aten::bmm", {30}).op("aten::_softmax", {25});
    unfused.op("aten::bmm", {30}).op("aten::add");
  });
  const auto result = aligned(fused, unfused);
  EXPECT_EQ(
      shown(result),
      (Rows{"nn.Module: Attention: aten::add 10 | aten::add 10",
            "nn.Module: Attention: aten::flash 20 | aten::bmm ×2 + aten::_softmax 85",
            "nn.Module: Attention: aten::linear 10 | aten::linear 10"}));
  const auto& row = result.rows[0];
  EXPECT_EQ(row.difference_ns, 65'000);
  EXPECT_EQ(row.after->work, 3);
  EXPECT_EQ(row.after->calls, 1) << "of what called them";
  EXPECT_EQ(row.after->kernel, "aten::bmm");
}

TEST(Align, OneOperatorInAnothersPlaceIsFollowedInside) {
  Program before, after;
  for (auto* p : {&before, &after}) {
    p->op("aten::relu");
    p->within(p == &before ? "nn.Module: Sdpa_0" : "nn.Module: Flash_0", [&] {
      p->op("aten::linear", {p == &before ? 10.0 : 30.0});
      if (p == &after) p->op("aten::copy_");
    });
    p->op("aten::gelu");
  }
  EXPECT_EQ(shown(aligned(before, after)),
            (Rows{"aten::gelu 10 | aten::gelu 10", "aten::relu 10 | aten::relu 10",
                  "nn.Module: Sdpa -> nn.Module: Flash: - | aten::copy_ 10",
                  "nn.Module: Sdpa -> nn.Module: Flash: aten::linear 10 | "
                  "aten::linear 30"}));
}

TEST(Align, ReorderedCallsMatchByName) {
  Program before, after;
  before.op("aten::a", {1}).op("aten::b", {2}).op("aten::c", {3}).op("aten::old", {5});
  after.op("aten::c", {3}).op("aten::new", {7}).op("aten::a", {1}).op("aten::b", {2});
  // b is the last match in the order of both: `new` lies before it, `old` behind.
  EXPECT_EQ(shown(aligned(before, after)),
            (Rows{"- | aten::new 7", "aten::a 1 | aten::a 1", "aten::b 2 | aten::b 2",
                  "aten::c 3 | aten::c 3", "aten::old 5 | -"}));
}

TEST(Align, TheLargestDifferenceComesFirstThenTheMostTime) {
  Program before, after;
  before.op("aten::a", {1}).op("aten::b", {2}).op("aten::c", {9}).op("aten::d", {4});
  after.op("aten::a", {1}).op("aten::b", {2}).op("aten::c", {3}).op("aten::d", {9});
  const auto rows = aligned(before, after).rows;
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(shown(rows[0]), "aten::c 9 | aten::c 3");
  EXPECT_EQ(shown(rows[1]), "aten::d 4 | aten::d 9");
  EXPECT_EQ(shown(rows[2]), "aten::b 2 | aten::b 2");
  EXPECT_EQ(shown(rows[3]), "aten::a 1 | aten::a 1");
}

TEST(Align, UnrelatedProgramsShareNoRow) {
  Program before, after;
  before.op("aten::a", {1}).op("aten::b", {2});
  after.op("aten::c", {3});
  EXPECT_EQ(shown(aligned(before, after)),
            (Rows{"- | aten::c 3", "aten::a 1 | -", "aten::b 2 | -"}));
}

TEST(Align, AnOperatorWithOtherPartsIsARow) {
  Program before, after;
  before.within("aten::linear", [&] { before.op("aten::addmm", {9}); }, "cpu_op");
  after.within(
      "aten::linear", [&] { after.op("aten::mm", {8}).op("aten::add_", {2}); },
      "cpu_op");
  EXPECT_EQ(shown(aligned(before, after)), Rows{"aten::linear 9 | aten::linear 10"});
}

TEST(Align, AnOperatorsOwnKernelsAreARowBesideItsParts) {
  Program before, after;
  for (auto* p : {&before, &after}) {
    p->within(
        "aten::sort",
        [&] {
          p->launch(4, "radix");
          p->op("aten::copy_", {6});
        },
        "cpu_op");
  }
  EXPECT_EQ(shown(aligned(before, after)),
            (Rows{"aten::sort 4 | aten::sort 4",
                  "aten::sort: aten::copy_ 6 | aten::copy_ 6"}));
}

TEST(Align, LayersAreOneRowHoweverMany) {
  const auto of = [](int layers) {
    Program p;
    for (int i = 0; i < layers; ++i) {
      p.within("nn.Module: Layer_" + std::to_string(i), [&] { p.op("aten::mm"); });
    }
    return p;
  };
  const auto result = aligned(of(3), of(4));
  EXPECT_EQ(shown(result), Rows{"nn.Module: Layer: aten::mm 30 | aten::mm 40"});
  EXPECT_EQ(result.rows[0].before->calls, 3);
  ASSERT_EQ(result.rows[0].because.size(), 1u);
  EXPECT_EQ(result.rows[0].because[0].text, "more calls: 4 against 3");
}

TEST(Align, NamesOfOperatorsKeepTheirNumbers) {
  Program before, after;
  before.op("aten::conv_1", {4}).op("aten::conv_2", {5});
  after.op("aten::conv_1", {4}).op("aten::conv_2", {5});
  const auto graph = [](Program& p, const std::string& hash) {
    p.within(
        "## Call CompiledFxGraph " + hash + " ##", [&] { p.op("triton", {3}); },
        "cpu_op");
  };
  graph(before, "fabc");
  graph(after, "fxyz");
  EXPECT_EQ(
      shown(aligned(before, after)),
      (Rows{"## Call CompiledFxGraph: triton 3 | triton 3",
            "aten::conv_1 4 | aten::conv_1 4", "aten::conv_2 5 | aten::conv_2 5"}));
}

TEST(Align, TheBackwardPassIsWhereItsForwardPassWas) {
  TraceText text;
  text.python("nn.Module: Linear_0", 0, 100);
  text.op("aten::addmm", 10, 40, R"("Sequence number": 5)").launched(20, 60, 8, 1);
  const std::string node = "autograd::engine::evaluate_function: AddmmBackward0";
  text.op(node, 200, 60, R"("Sequence number": 5)", 2);
  text.op("AddmmBackward0", 205, 50, R"("Sequence number": 5)", 2);
  text.op("aten::mm", 210, 30, "", 2).call("cudaLaunchKernel", 215, 5, 2, 2);
  text.kernel(240, 16, 2);
  EXPECT_EQ(shown(aligned(text, text)),
            (Rows{"nn.Module: Linear: aten::addmm 8 | aten::addmm 8",
                  "nn.Module: Linear: " + node +
                      ": AddmmBackward0: aten::mm 16 | aten::mm 16"}));
}

TEST(Align, WorkWithoutAnOperatorIsARow) {
  Program before;
  before.op("aten::mm", {5}).launch(6, "alone");
  before.text.kernel(500, 7, 99, "lost");
  const auto result = aligned(before, before);
  EXPECT_EQ(shown(result), (Rows{" 13 |  13", "aten::mm 5 | aten::mm 5"}));
}

TEST(Align, OverlappingWorkIsCountedOnce) {
  TraceText text;
  text.op("aten::a", 0, 20).launched(5, 100, 50, 1, 7);
  text.op("aten::b", 30, 20).launched(35, 120, 100, 2, 8);
  text.op("aten::c", 60, 20).launched(65, 130, 10, 3, 9);
  EXPECT_EQ(shown(aligned(text, text)),
            (Rows{"aten::a 50 | aten::a 50", "aten::b 70 | aten::b 70",
                  "aten::c 0 | aten::c 0"}));
}

TEST(Align, FiguresAreOfAStepIfBothHaveSteps) {
  const auto of = [](int steps) {
    Program p;
    for (int i = 0; i < steps; ++i) {
      p.within(
          "ProfilerStep#" + std::to_string(i), [&] { p.op("aten::mm", {10.001}); },
          "user_annotation");
    }
    p.op("aten::add", {1});  // 0.333... us a step of three
    return p;
  };
  const auto result = aligned(of(2), of(3));
  EXPECT_TRUE(result.per_step);
  EXPECT_EQ(shown(result),
            (Rows{"aten::add 0 | aten::add 0", "aten::mm 10 | aten::mm 10"}));
  EXPECT_EQ(result.rows[1].before->calls, 1);
  const auto whole = aligned(of(2), of(0));
  EXPECT_FALSE(whole.per_step);
  EXPECT_EQ(shown(whole), (Rows{"aten::add 1 | aten::add 1", "aten::mm 20 | -"}));
}

TEST(Align, ADeviceWithoutWorkHasNoRows) {
  Program busy, idle;
  busy.op("aten::mm", {5});
  idle.op("aten::mm", {});
  EXPECT_EQ(shown(aligned(idle, busy)), Rows{"- | aten::mm 5"});
  const auto none = aligned(idle, idle);
  EXPECT_TRUE(none.rows.empty());
  EXPECT_FALSE(none.same_kernels);
  EXPECT_FALSE(none.kernels_differ);
}

TEST(Align, KernelsDifferIfUnder80PercentOfTheirTimeHaveNamesInCommon) {
  const auto of = [](const std::string& kernel) {
    Program p;
    return p.op("aten::mm", {60}, "", kernel).op("aten::add", {40}, "", "shared");
  };
  const auto result = aligned(of("Cijk_Alik"), of("nvjet"));
  EXPECT_DOUBLE_EQ(*result.same_kernels, 0.4);
  EXPECT_TRUE(result.kernels_differ);
  EXPECT_FALSE(aligned(of("nvjet"), of("nvjet")).kernels_differ);
}

TEST(Align, ManyChildrenAndDeepOnes) {
  constexpr int kMany = 3000;
  Program before, after;
  const auto name = [](int i) { return "aten::op" + std::to_string(i); };
  for (int i = 0; i < kMany; ++i) before.op(name(i), {1}).op("aten::same", {1});
  for (int i = kMany; i-- > 0;) after.op(name(i), {1}).op("aten::same", {1});
  EXPECT_EQ(aligned(before, after).rows.size(), kMany + 1u);

  Program deep;
  std::function<void(int)> nest = [&](int levels) {
    deep.launch(1, "k");
    if (levels > 0) {
      deep.within(
          "aten::f" + std::to_string(levels), [&] { nest(levels - 1); }, "cpu_op");
    }
  };
  nest(500);
  const auto rows = aligned(deep, deep).rows;
  EXPECT_EQ(rows.size(), 65u) << "64 levels and what is outside";
  EXPECT_EQ(rows[0].path.size() < 64, true);
}

}  // namespace
}  // namespace tta::pipeline

// SPDX-License-Identifier: BSD-3-Clause
// The calls of some windows as one graph, by hand.
#include "pipeline/tables/call_graph.h"

#include "pipeline/analyzed.h"

namespace tta::pipeline {
namespace {

// Parent, kind, name, how often, host time, own, of what it launched; in us.
std::string said(const Analyzed& report, std::vector<std::uint32_t> windows,
                 std::size_t most = 100, std::vector<std::uint32_t> marked = {}) {
  std::string out;
  const auto& c = report.timeline->columns();
  for (const auto& n : make_call_graph(report, windows, most, marked)) {
    char line[200];
    std::snprintf(
        line, sizeof line, "%d %s %s x%d: %lld, %lld own, device %lld\n", n.parent,
        std::string(features::kinds()[std::size_t(n.kind)].name).c_str(),
        std::string(report.loaded.strings.view(c.name[n.row])).c_str(), int(n.count),
        n.time_ns / 1000LL, n.self_ns / 1000LL, n.device_ns / 1000LL);
    out += line;
  }
  return out;
}

std::vector<std::uint32_t> all_of(const Report& report) {
  std::vector<std::uint32_t> out;
  for (const auto& window : report.windows) out.push_back(window.index);
  return out;
}

TEST(CallGraph, MergesByKindBelowTheSameKinds) {
  TraceText text;
  text.step(1, 0, 1000);
  for (const double at : {0.0, 400.0}) {
    text.op("aten::linear", at, 300).python("model.py(3): f", at + 10, 280);
    text.op("aten::addmm", at + 20, 100);
    text.launched(at + 30, at + 100, 40, 1 + static_cast<int>(at));
  }
  text.op("aten::addmm", 800, 10);  // nothing is around it
  const Analyzed report(text);
  // The step and the frame between are left out; a launch takes 5 us.
  EXPECT_EQ(said(report, all_of(report)),
            "-1 matrix aten::linear x3: 610, 410 own, device 80\n"
            "0 matrix aten::addmm x2: 200, 190 own, device 80\n"
            "1 launch cudaLaunchKernel x2: 10, 10 own, device 80\n"
            "2 matrix_kernel gemm x2: 80, 80 own, device 0\n");
}

TEST(CallGraph, TakesOfEachEventWhatLiesInTheWindows) {
  TraceText text;
  text.step(1, 0, 100).step(2, 100, 100);
  text.op("aten::add", 90, 30);  // in both
  text.launched(92, 150, 20, 1);
  const Analyzed report(text);
  std::vector<std::uint32_t> first, second;
  for (const auto& window : report.windows) {
    (window.window.end_ns <= 100'000 ? first : second).push_back(window.index);
  }
  EXPECT_EQ(said(report, first),
            "-1 elementwise aten::add x1: 10, 5 own, device 0\n"
            "0 launch cudaLaunchKernel x1: 5, 5 own, device 0\n");
  // The launch lies before: it is what the work hangs on.
  EXPECT_EQ(said(report, second),
            "-1 elementwise aten::add x1: 20, 20 own, device 20\n"
            "0 launch cudaLaunchKernel x0: 0, 0 own, device 20\n"
            "1 matrix_kernel gemm x1: 20, 20 own, device 0\n");
}

// The graph of a step under names that only say who gave them.
std::string named(const std::vector<std::string>& names) {
  TraceText text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const double at = 100.0 * static_cast<double>(i);
    text.note(names[i], at, 90).op("aten::mm", at + 5, 40);
    text.call("cudaLaunchKernel", at + 10, 5, 1 + static_cast<int>(i));
    text.kernel(at + 20, 60, 1 + static_cast<int>(i), names[names.size() - 1 - i]);
    text.call("cudaStreamSynchronize", at + 50, 30, 900 + static_cast<int>(i));
  }
  const Analyzed report(text);
  std::string out;
  for (const auto& n : make_call_graph(report, all_of(report), 9)) {
    out += std::to_string(n.parent) + " " + std::string(sort_of(n.kind).kind) + " " +
           std::to_string(n.count) + " " + std::to_string(n.time_ns) + "\n";
  }
  return out;
}

TEST(CallGraph, NoNameAddsHidesOrMovesANode) {
  const auto plain = named({"a", "a", "a", "a"});
  EXPECT_EQ(plain,
            "-1 range 4 360000\n"
            "0 matrix 4 160000\n"
            "1 launch 4 20000\n"
            "2 kernel 4 240000\n"
            "0 wait 4 120000\n");
  EXPECT_EQ(named({"step 1", "step 2", "step 3", "step 4"}), plain);
  // As other events are called.
  EXPECT_EQ(named({"cudaStreamSynchronize", "say none", "say", "b"}), plain);
}

TEST(CallGraph, TellsRangesFromKernelsOfTheirName) {
  TraceText text;
  text.note("same", 0, 50).launched(60, 70, 5, 1).kernel(90, 10, 9, "same");
  const Analyzed report(text);
  EXPECT_EQ(said(report, all_of(report), 2),
            "-1 range same x1: 50, 50 own, device 0\n"
            "-1 kernel same x1: 10, 10 own, device 0\n");
}

TEST(CallGraph, KeepsWhatTellsMostAndWhatIsMarked) {
  TraceText text;
  text.op("outer", 0, 100).op("aten::mm", 1, 98).op("aten::add", 200, 30);
  text.op("aten::relu", 201, 2).launched(300, 310, 5, 1);
  const Analyzed report(text);
  // What lies between is left out: the rest hangs on what is above it.
  EXPECT_EQ(said(report, all_of(report), 1),
            "-1 matrix aten::mm x1: 98, 98 own, device 0\n");
  EXPECT_EQ(said(report, all_of(report), 0), "");
  const std::vector<std::uint32_t> relu{3};  // with what called it
  EXPECT_EQ(said(report, all_of(report), 0, relu),
            "-1 elementwise aten::add x1: 30, 28 own, device 0\n"
            "0 elementwise aten::relu x1: 2, 2 own, device 0\n");
  EXPECT_EQ(make_call_graph(report, all_of(report), 0, relu).at(1).marked, 3u);
}

TEST(CallGraph, CountsThreadsAndWhatHasNoLength) {
  TraceText text;
  text.op("aten::add", 0, 50).op("aten::mul", 10, 0);
  text.op("aten::add", 20, 60, "", 2);  // on another thread
  text.launched(100, 110, 5, 1);
  const Analyzed report(text);
  EXPECT_EQ(said(report, all_of(report), 2),
            "-1 elementwise aten::add x2: 110, 110 own, device 0\n"
            "-1 launch cudaLaunchKernel x1: 5, 5 own, device 5\n");
}

TEST(CallGraph, SaysWhatUnitsAMatrixProductRanOn) {
  TraceText text;
  text.kernel(0, 10, 1, "volta_sgemm_128x64_nn").kernel(20, 10, 2, "ampere_h16816gemm");
  text.kernel(40, 10, 3, "vectorized_elementwise_kernel");
  const Analyzed report(text);
  std::vector<std::string> units;
  for (const auto& node : make_call_graph(report, all_of(report), 9)) {
    units.emplace_back(node.units);
  }
  EXPECT_EQ(units, (std::vector<std::string>{"plain units", "tensor cores", ""}));
}

TEST(CallGraph, RefusesWhatIsNotThere) {
  TraceText text;
  text.launched(0, 10, 5, 1).python("model.py(3): f", 0, 20);
  const Analyzed report(text);
  EXPECT_THROW(make_call_graph(report, std::vector<std::uint32_t>{99}, 9),
               std::out_of_range);
  EXPECT_THROW(sorts_of(report, std::vector<std::uint32_t>{9999}), std::out_of_range);
  const auto sorts = sorts_of(report, std::vector<std::uint32_t>{0, 1, 2});
  std::string letters;
  for (const auto& sort : sorts) letters += sort.letter;
  EXPECT_EQ(letters, "ckf");
}

}  // namespace
}  // namespace tta::pipeline

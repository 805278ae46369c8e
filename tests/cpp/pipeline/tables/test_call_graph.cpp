// SPDX-License-Identifier: BSD-3-Clause
// The calls of some windows as one graph, by hand.
#include "pipeline/tables/call_graph.h"

#include "pipeline/analyzed.h"

namespace tta::pipeline {
namespace {

// Parent, kind, name, how often, host time, own, of what it launched; in us.
std::string said(const Analyzed& report, std::vector<std::uint32_t> windows,
                 std::size_t most = 100) {
  std::string out;
  const auto& c = report.timeline->columns();
  for (const auto& n : make_call_graph(report, windows, most)) {
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

TEST(CallGraph, MergesByNameBelowTheSameNames) {
  TraceText text;
  text.step(1, 0, 1000);
  for (const double at : {0.0, 400.0}) {
    text.op("aten::linear", at, 300).python("model.py(3): f", at + 10, 280);
    text.op("aten::addmm", at + 20, 100);
    text.launched(at + 30, at + 100, 40, 1 + static_cast<int>(at));
  }
  text.op("aten::addmm", 800, 10);  // another one: nothing is around it
  const Analyzed report(text);
  // The step and the frame between are left out; a launch takes 5 us.
  EXPECT_EQ(said(report, all_of(report)),
            "-1 matrix aten::linear x2: 600, 400 own, device 80\n"
            "0 matrix aten::addmm x2: 200, 190 own, device 80\n"
            "1 launch cudaLaunchKernel x2: 10, 10 own, device 80\n"
            "2 matrix_kernel gemm x2: 80, 80 own, device 0\n"
            "-1 matrix aten::addmm x1: 10, 10 own, device 0\n");
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

TEST(CallGraph, TellsRangesFromKernelsOfTheirName) {
  TraceText text;
  text.note("same", 0, 50).launched(60, 70, 5, 1).kernel(90, 10, 9, "same");
  const Analyzed report(text);
  EXPECT_EQ(said(report, all_of(report), 2),
            "-1 range same x1: 50, 50 own, device 0\n"
            "-1 kernel same x1: 10, 10 own, device 0\n");
}

TEST(CallGraph, KeepsTheCostliestWithWhatCalledThem) {
  TraceText text;
  text.op("outer", 0, 100).op("inner", 1, 98).op("other", 200, 30);
  text.launched(300, 310, 5, 1);
  const Analyzed report(text);
  EXPECT_EQ(said(report, all_of(report), 1),
            "-1 other outer x1: 100, 2 own, device 0\n"
            "0 other inner x1: 98, 98 own, device 0\n");
  EXPECT_EQ(said(report, all_of(report), 0), "");
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
  EXPECT_THROW(kinds_of(report, std::vector<std::uint32_t>{9999}), std::out_of_range);
  EXPECT_EQ(kinds_of(report, std::vector<std::uint32_t>{2}).at(0), "frame");
}

}  // namespace
}  // namespace tta::pipeline

// SPDX-License-Identifier: BSD-3-Clause
// Schedules as traces: what is written is read back by the loader.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include "replay/random_program.h"
#include "replay/samples.h"
#include "support/says.h"
#include "support/trace_text.h"
#include "write/write_trace.h"

namespace tta::replay {
namespace {

using test::Recorded;
using timeline::Interval;
using trace::Category;
using tta::test::says;
using tta::test::TraceText;

std::string text_of(const Program& p, std::uint32_t rank = 0) {
  std::ostringstream out;
  write::write_program(p, schedule(p), out, rank);
  return std::move(out).str();
}

std::vector<std::uint32_t> rows_of(const trace::Trace& t, Category category) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t row = 0; row < t.columns.size(); ++row) {
    if (t.columns.phase[row] == 'X' && t.columns.cat(row) == category) {
      out.push_back(row);
    }
  }
  return out;
}

Program step() {
  Program p;
  p.devices.push_back({0, "NVIDIA H100", 132, 9, 0, 80'000'000'000});
  p.add_thread(1, "main \"x\"");
  p.add_stream(7);
  p.open_span(0, "ProfilerStep#3");
  p.open(0, "aten::linear");
  p.threads[0].operations.back().args = "\"Input Dims\": [[2, 3]]";
  DeviceWork w{"gemm<\"a\\b\">", TaskKind::kKernel, 0, 100'001};
  w.blocks_per_sm = 2.5;
  p.launch(0, w, 5'000);
  p.close(0);
  p.launch(0,
           {"Memcpy DtoH (Device -> Pageable)", TaskKind::kCopy, 0, 2'000,
            CopyKind::kDownPageable, -1, true, 4},
           5'000);
  p.close(0);
  return p;
}

TEST(WriteTrace, AProgramIsReadBackAsItWasScheduled) {
  const Recorded r(step());
  const auto& c = r.trace.columns;
  EXPECT_TRUE(r.trace.warnings.empty());
  const auto calls = rows_of(r.trace, Category::kCudaRuntime);
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(r.trace.name(calls[0]), "cudaLaunchKernel");
  EXPECT_EQ(r.trace.name(calls[1]), "cudaMemcpyAsync");
  const auto kernels = rows_of(r.trace, Category::kKernel);
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(r.trace.name(kernels[0]), "gemm<\"a\\b\">");
  EXPECT_EQ(c.ts[kernels[0]], 8'000);
  EXPECT_EQ(c.dur[kernels[0]], 100'001);
  EXPECT_EQ(r.timeline.launch_of(kernels[0]), calls[0]);
  EXPECT_EQ(r.args.work(kernels[0]).blocks_per_sm, 2.5);
  const auto owner = r.timeline.owner_of(kernels[0]);
  EXPECT_EQ(r.trace.name(owner), "aten::linear");
  const auto args = r.trace.read_args({{owner}});
  EXPECT_TRUE(says(args[0], "\"Input Dims\": [[2, 3]]"));
  const auto copies = rows_of(r.trace, Category::kGpuMemcpy);
  ASSERT_EQ(copies.size(), 1u);
  EXPECT_EQ(c.ts[copies[0]], 109'201);
  EXPECT_EQ(r.args.work(copies[0]).bytes, 4);
  EXPECT_EQ(c.end(calls[1]), 119'201);
  ASSERT_EQ(r.timeline.spans.steps.size(), 1u);
  EXPECT_EQ(r.timeline.spans.steps[0].number, 3);
  EXPECT_EQ(r.timeline.spans.steps[0].end, 119'201);
  EXPECT_EQ(r.timeline.properties_of(0)->multiprocessors, 132);
  EXPECT_EQ(r.trace.metadata_json("torchtraceap"),
            "{\"simulated\": true, \"rank\": 0}");
}

TEST(WriteTrace, ANoteStandsBesideTheMark) {
  const auto p = step();
  std::ostringstream out;
  write::write_program(p, schedule(p), out, 0, "\"dry_run\": {\"gpu\": \"H100 SXM\"}");
  const auto t = trace::load_bytes(std::move(out).str());
  EXPECT_EQ(t.metadata_json("torchtraceap"),
            "{\"simulated\": true, \"rank\": 0, \"dry_run\": {\"gpu\": \"H100 SXM\"}}");
}

TEST(WriteTrace, FunctionsOfPythonKnowTheirCaller) {
  Program p;
  p.add_thread(1, "main");
  p.add_stream(7);
  p.open_frame(0, "train.py(3): main");
  p.open_frame(0, "train.py(9): step");
  p.open(0, "aten::mm");
  p.launch(0, {"gemm", TaskKind::kKernel, 0, 1'000}, 5'000);
  p.close(0);
  p.close(0);
  p.open_frame(0, "train.py(20): log");
  p.host(0, 1'000);
  p.close(0);
  p.close(0);
  const Recorded r(p);
  const auto& c = r.trace.columns;
  const auto frames = rows_of(r.trace, Category::kPythonFunction);
  ASSERT_EQ(frames.size(), 3u);
  EXPECT_EQ(r.trace.name(frames[1]), "train.py(9): step");
  EXPECT_EQ(c.python_id[frames[0]], 1);
  EXPECT_EQ(c.python_parent_id[frames[0]], trace::kNoId);
  EXPECT_EQ(c.python_parent_id[frames[1]], c.python_id[frames[0]]);
  EXPECT_EQ(c.python_parent_id[frames[2]], c.python_id[frames[0]]);
  EXPECT_EQ(c.dur[frames[1]], 5'000);
  EXPECT_EQ(c.dur[frames[0]], 6'000);
  // A frame is not an operator: the kernel belongs to the one inside it.
  const auto kernels = rows_of(r.trace, Category::kKernel);
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(r.trace.name(r.timeline.owner_of(kernels[0])), "aten::mm");
}

TEST(WriteTrace, CallsHaveTheNamesTheyAreGiven) {
  Program p;
  p.devices.push_back({0, "T4", 40, 7, 5, 16, "\"warpSize\": 32"});
  p.add_thread(1, "main");
  p.add_stream(7);
  p.call(0, "cudaMalloc", 2'000);
  p.launch(0, {"k", TaskKind::kKernel, 0, 1'000}, 5'000, false, "cudaLaunchKernelExC");
  p.device_sync(0, 0, {"cudaFree", 3'000});
  const Recorded r(p);
  const auto calls = rows_of(r.trace, Category::kCudaRuntime);
  ASSERT_EQ(calls.size(), 3u);
  EXPECT_EQ(r.trace.name(calls[0]), "cudaMalloc");
  EXPECT_EQ(r.trace.columns.dur[calls[0]], 2'000);
  EXPECT_EQ(r.trace.name(calls[1]), "cudaLaunchKernelExC");
  EXPECT_EQ(r.trace.name(calls[2]), "cudaFree");
  EXPECT_TRUE(says(r.trace.metadata_json("deviceProperties"), "\"warpSize\": 32"));
}

TEST(WriteTrace, MomentsAreMultiplesOfTheResolution) {
  auto p = step();
  p.resolution_ns = 1'000;
  const Recorded r(p);
  const auto& c = r.trace.columns;
  const auto kernels = rows_of(r.trace, Category::kKernel);
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(c.ts[kernels[0]], 8'000);
  EXPECT_EQ(c.dur[kernels[0]], 100'000);  // 100'001, ending at 108'001
  const auto copies = rows_of(r.trace, Category::kGpuMemcpy);
  EXPECT_EQ(c.ts[copies[0]], 109'000);  // 109'201
  p.resolution_ns = 0;
  EXPECT_THROW(schedule(p), ProgramError);
}

TEST(WriteTrace, ACheckpointEndsTheWriting) {
  struct Enough {};
  const auto p = step();
  std::ostringstream out;
  const auto stop = [] { throw Enough{}; };
  EXPECT_THROW(write::write_program(p, schedule(p), out, 0, "", stop), Enough);
}

TEST(WriteTrace, RowsTellWhatTheProgramSaysOfThem) {
  Program p;
  p.add_thread(1, "main");
  p.open_span(0, "ProfilerStep#0", "\"Call stack\": \"train.py(3): <module>\"");
  p.open(0, "aten::mm", "\"Sequence number\": 5");
  p.host(0, 1'000, "aten::view", "\"Input Dims\": [[2]]");
  p.close(0);
  p.close(0);
  const auto t = trace::load_bytes(text_of(p));
  const auto args_of = [&](Category category, std::size_t which) {
    return t.read_args({{rows_of(t, category).at(which)}}).front();
  };
  EXPECT_TRUE(says(args_of(Category::kUserAnnotation, 0), "train.py(3)"));
  EXPECT_TRUE(says(args_of(Category::kCpuOp, 0), "\"Sequence number\": 5"));
  EXPECT_TRUE(says(args_of(Category::kCpuOp, 1), "\"Input Dims\": [[2]]"));
}

TEST(WriteTrace, OfTwoThatBeginAndEndTogetherTheInnerOneIsInside) {
  Program p;
  p.add_thread(1, "main");
  p.open(0, "outer");
  p.open(0, "inner");
  p.host(0, 1'000);
  p.close(0);
  p.close(0);
  const auto t = trace::load_bytes(text_of(p));
  const auto timeline = timeline::make_timeline(t);
  const auto ops = rows_of(t, Category::kCpuOp);
  ASSERT_EQ(ops.size(), 2u);
  EXPECT_EQ(t.name(ops[1]), "inner");
  EXPECT_EQ(timeline.tree.parent[ops[1]], ops[0]);
}

// A name alone decides what a copy is to the host, as it does in a recording.
TEST(CopyKinds, AreKnownByNameAndSize) {
  EXPECT_EQ(copy_kind("Memcpy HtoD (Pageable -> Device)", 64 * 1024),
            CopyKind::kUpPageable);
  EXPECT_EQ(copy_kind("Memcpy HtoD (Pageable -> Device)", 64 * 1024 + 1),
            CopyKind::kUpPageableLarge);
  EXPECT_EQ(copy_kind("Memcpy HtoD (Pinned -> Device)", 1 << 30),
            CopyKind::kFromPinned);
  EXPECT_EQ(copy_kind("Memcpy DtoH (Device -> Pageable)", 4), CopyKind::kDownPageable);
  EXPECT_EQ(copy_kind("Memcpy DtoH (Device -> Pinned)", 4), CopyKind::kFromPinned);
  EXPECT_EQ(copy_kind("Memcpy DtoD (Device -> Device)", 4), CopyKind::kNotToHost);
}

TEST(WriteTrace, ArrowsLeadFromLaunchesToWork) {
  const auto t = trace::load_bytes(text_of(step()));
  const auto& c = t.columns;
  std::vector<std::int64_t> from, to;
  for (std::uint32_t row = 0; row < c.size(); ++row) {
    if (c.phase[row] == 's') from.push_back(c.correlation[row]);
    if (c.phase[row] == 'f') to.push_back(c.correlation[row]);
  }
  EXPECT_EQ(from, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(to, from);
}

TEST(WriteTrace, EachRankHasItsOwnFile) {
  Program p;
  const auto group = p.add_collective({"allreduce", "0", 5, 2});
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    p.add_thread(1, "main", rank);
    p.add_stream(7, 0, rank);
    DeviceWork w{"ncclDevKernel_AllReduce", TaskKind::kKernel, rank, 100'000};
    w.collective = group;
    p.launch(rank, w, 5'000);
  }
  const auto t = trace::load_bytes(text_of(p, 1));
  const auto kernels = rows_of(t, Category::kKernel);
  ASSERT_EQ(kernels.size(), 1u);
  const auto timeline = timeline::make_timeline(t);
  const timeline::EventArgs args(timeline);
  const auto* collective = args.collective(kernels[0]);
  ASSERT_NE(collective, nullptr);
  EXPECT_EQ(collective->group, "0");
  EXPECT_EQ(collective->sequence, 5);
  EXPECT_EQ(collective->group_size, 2);
  EXPECT_TRUE(says(t.metadata_json("distributedInfo"), "\"world_size\": 2"));
}

TEST(WriteTrace, FilesThatCannotBeWrittenAreRefused) {
  const auto p = step();
  const auto s = schedule(p);
  EXPECT_THROW(write::write_program(p, s, std::string("x.json.gz")),
               std::invalid_argument);
  EXPECT_THROW(write::write_program(p, s, std::string("/no/such/folder/x.json")),
               std::invalid_argument);
  std::ostringstream broken;
  broken.setstate(std::ios::badbit);
  EXPECT_THROW(write::write_program(p, s, broken), std::ios_base::failure);
}

// A recorded trace: the op [0, 60) holds launch [10, 15) and a sync [20, 128); the
// kernel runs [20, 120). Marked [30, 40) in the sync, [130, 140) after it.
struct Recording : tta::test::Replayed {
  Recording() : Replayed(text().load(), tta::test::by_constants()) {}
  static TraceText text() {
    return TraceText()
        .header("\"schemaVersion\": 1, \"host\": \"a\\\"b\"")
        .op("aten::item", 0, 129, "\"Note\": \"q\\\"\"")
        .launched(10, 20, 100, 1)
        .call("cudaDeviceSynchronize", 20, 108, 2)
        .python("inside", 30, 49)
        .op("aten::after", 130, 10)
        .host("overhead", "elsewhere", 130, 10, "", 77)
        .launched(142, 152, 10, 3);
  }

  trace::Trace written(const std::vector<std::int64_t>& times) const {
    std::ostringstream out;
    write::write_what_if(model, times, "without \"waits\"", out);
    return trace::load_bytes(std::move(out).str());
  }
};

std::vector<Interval> times_of(const trace::Trace& t) {
  std::vector<Interval> out;
  for (std::uint32_t row = 0; row < t.columns.size(); ++row) {
    if (t.columns.timed(row)) out.push_back({t.columns.ts[row], t.columns.end(row)});
  }
  return out;
}

TEST(WriteWhatIf, AsRecordedNothingMoves) {
  const Recording r;
  const auto t = r.written(r.model.recorded());
  EXPECT_EQ(times_of(t), times_of(r.trace));
  ASSERT_EQ(t.columns.size(), r.trace.columns.size());
  std::vector<std::uint32_t> rows;
  for (std::uint32_t row = 0; row < t.columns.size(); ++row) {
    rows.push_back(row);
    EXPECT_EQ(t.name(row), r.trace.name(row));
    EXPECT_EQ(t.columns.category[row], r.trace.columns.category[row]);
    EXPECT_EQ(t.columns.pid[row], r.trace.columns.pid[row]);
    EXPECT_EQ(t.columns.tid[row], r.trace.columns.tid[row]);
  }
  EXPECT_EQ(t.read_args(rows), r.trace.read_args(rows));
  EXPECT_EQ(t.metadata_json("host"), "\"a\\\"b\"");
  EXPECT_EQ(t.metadata_json("torchtraceap"),
            "{\"what_if\": \"without \\\"waits\\\"\", \"of\": \"<bytes>\"}");
}

TEST(WriteWhatIf, OfASimulationItIsOneAgain) {
  const tta::test::Replayed r(text_of(step()));
  const auto written = [](const tta::test::Replayed& of, const char* note) {
    std::ostringstream out;
    write::write_what_if(of.model, of.model.recorded(), note, out);
    return std::move(out).str();
  };
  const tta::test::Replayed once(written(r, "once"));
  EXPECT_EQ(
      once.trace.metadata_json("torchtraceap"),
      "{\"what_if\": \"once\", \"of\": \"<bytes>\", \"simulated\": true, \"rank\": 0}");
  const auto twice = trace::load_bytes(written(once, "twice"));
  EXPECT_EQ(twice.metadata_json("torchtraceap"),
            "{\"what_if\": \"twice\", \"of\": \"<bytes>\", \"simulated\": true, "
            "\"rank\": 0}");
}

TEST(WriteWhatIf, RowsMoveWithTheirThread) {
  const Recording r;
  Change change;
  const auto lane = r.timeline.lanes.lane[1];  // of the launch
  change.drop_waits(lane, {20'000, 128'000});
  const auto t = r.written(r.model.graph.schedule(change.weights(r.model)));
  const auto find = [&](std::string_view name) {
    for (std::uint32_t row = 0; row < t.columns.size(); ++row) {
      if (t.name(row) == name) return Interval{t.columns.ts[row], t.columns.end(row)};
    }
    return Interval{-1, -1};
  };
  // The sync takes the 5 us that it costs: what follows comes 103 us sooner.
  EXPECT_EQ(find("cudaDeviceSynchronize"), (Interval{20'000, 25'000}));
  EXPECT_EQ(find("aten::item"), (Interval{0, 26'000}));
  EXPECT_EQ(find("aten::after"), (Interval{27'000, 37'000}));
  // Inside the sync time is pressed together: 10 of 108 us -> 463 ns of 5,000, and 59.
  EXPECT_EQ(find("inside"), (Interval{20'463, 22'731}));
  // A thread that the model leaves out moves as the busiest one does.
  EXPECT_EQ(find("elsewhere"), (Interval{27'000, 37'000}));
}

TEST(WriteWhatIf, NestingAndOrderOutliveAnyChange) {
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    const test::RandomProgram p(seed);
    const Recorded r(p.program);
    for (const auto fix : test::kFixes) {
      Change change;
      test::apply(fix, p.program, r, change);
      const auto times = r.model.graph.schedule(change.weights(r.model));
      std::ostringstream out;
      write::write_what_if(r.model, times, "fix", out);
      const auto t = trace::load_bytes(std::move(out).str());
      EXPECT_TRUE(t.warnings.empty());
      const auto again = timeline::make_timeline(t);
      ASSERT_EQ(t.columns.size(), r.trace.columns.size());
      for (const auto& task : r.model.tasks.all) {
        EXPECT_EQ(t.columns.ts[task.row], r.model.begin + times[task.start_point]);
      }
      // An operator holds the calls that it held.
      for (std::uint32_t row = 0; row < t.columns.size(); ++row) {
        if (!r.timeline.columns().timed(row)) continue;
        const auto parent = r.timeline.tree.parent[row];
        if (parent == timeline::kNoRow) continue;
        EXPECT_LE(t.columns.ts[parent], t.columns.ts[row]);
        EXPECT_GE(t.columns.end(parent), t.columns.end(row));
      }
      EXPECT_EQ(again.links.linked, r.timeline.links.linked);
    }
  }
}

TEST(WriteWhatIf, AScheduleOfAnotherModelIsRefused) {
  const Recording r;
  EXPECT_THROW(r.written({0, 1, 2}), std::invalid_argument);
  EXPECT_THROW(
      write::write_what_if(r.model, r.model.recorded(), "", std::string("a.gz")),
      std::invalid_argument);
}

}  // namespace
}  // namespace tta::replay

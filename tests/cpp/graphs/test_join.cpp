// SPDX-License-Identifier: BSD-3-Clause
// Graphs of hand-made traces, and what their captures tell, by hand.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "graphs/join.h"
#include "graphs/read_capture.h"
#include "timeline/engine_steps.h"
#include "timeline/timed.h"

namespace tta::graphs {
namespace {

using test::Timed;
using test::TraceText;
using timeline::Capture;
using timeline::EventArgs;
using Captures = std::vector<std::shared_ptr<const Capture>>;
using Names = std::vector<std::string>;

std::string square(int size) {
  const auto dims = "[" + std::to_string(size) + ", 8]";
  return R"("Input Dims": [)" + dims + ", " + dims +
         R"(], "Input type": ["float", )"
         R"("float"])";
}

std::string grid(int blocks) {
  return R"(, "grid": [)" + std::to_string(blocks) + R"(, 1, 1], "block": [128, 1, 1])";
}

// A trace that grows in time.
struct Program : TraceText {
  double at = 0;
  int correlation = 0;

  // An eager operator of a kernel, in a function.
  Program& run(const std::string& op, const std::string& kernel, int size,
               int blocks = 0) {
    python("model.py(" + std::to_string(10 + size) + "): forward", at, 18);
    this->op(op, at + 1, 15, square(size));
    call("cudaLaunchKernel", at + 2, 3, ++correlation);
    device_work("kernel", kernel, at + 8, 5, correlation, blocks ? grid(blocks) : "", 7,
                0);
    at += 20;
    return *this;
  }
  // A capture of a launch by each operator.
  Program& capture(const Names& ops, int size, int tid = 1) {
    call("cudaStreamBeginCapture_v2", at, 1, ++correlation);
    for (const auto& op : ops) {
      at += 20;
      this->op(op, at, 15, square(size), tid);
      call("cudaLaunchKernel", at + 2, 3, ++correlation, tid);
      call("cuLaunchKernel", at + 3, 1, ++correlation, tid);
    }
    at += 20;
    call("cudaStreamEndCapture", at, 1, ++correlation);
    at += 20;
    return *this;
  }
  // A replay, with a node every 10 us for 5 us.
  Program& replay(const Names& kernels, int blocks = 0, const std::string& more = "",
                  int streams = 1) {
    call("cudaGraphLaunch", at, 5, ++correlation);
    int number = 0;
    for (const auto& kernel : kernels) {
      at += 10;
      device_work("kernel", kernel, at, 5, correlation,
                  (blocks ? grid(blocks) : "") + more, 7 + number++ % streams, 0);
    }
    at += 20;
    return *this;
  }
  Program& in(const std::string& range, double length) {
    note(range, at, length);
    return *this;
  }
};

struct Graphs : Timed {
  explicit Graphs(const TraceText& text, Captures captures = {})
      : Timed(text),
        args(*this),
        joined(join_graphs(*this, args, std::move(captures))) {}
  const Join& join(std::size_t i = 0) const { return joined.joins.at(i); }
  // Operator and first size of a node's capture.
  std::string node(std::size_t i) const {
    const auto& of = *join().capture;
    const auto& op = of.ops.at(of.launches.at(join().launches.at(i)).op);
    return of.texts[op.name] + " " + std::to_string(of.inputs.at(op.inputs).dims[0][0]);
  }
  EventArgs args;
  Joined joined;
};

std::shared_ptr<const Capture> file_of(const TraceText& text, int batch) {
  const Timed timed(text);
  auto out = read_capture(timed, EventArgs(timed));
  out.file = "bs_" + std::to_string(batch);
  out.batch_size = batch;
  return std::make_shared<const Capture>(std::move(out));
}

const Names kOps{"aten::mm", "aten::add", "aten::relu"}, kKernels{"gemm", "add", "max"};

// The warm-up of a model with a batch: three operators, a kernel each.
Program warm_up(int batch, int blocks) {
  Program out;
  for (std::size_t i = 0; i < 3; ++i) out.run(kOps[i], kKernels[i], batch, blocks);
  return out;
}

TEST(Replays, AGraphIsItsIdOrItsWorkInAnyOrder) {
  Program text;
  text.replay({"a", "b"}).replay({"b", "a"}).replay({"a"}).replay({"a", "b"}, 4);
  const Graphs by_work(text);
  ASSERT_EQ(by_work.joined.replays.graphs.size(), 3u);
  EXPECT_EQ(by_work.joined.replays.graphs[0].replays.size(), 2u);
  EXPECT_EQ(by_work.joined.replays.graphs[0].device_ns, 20'000);
  const auto& two = by_work.joined.replays.replays;
  EXPECT_EQ(nodes_of(by_work, by_work.args, two[1], two[0]),
            (std::vector<std::uint32_t>{1, 0}));
  EXPECT_TRUE(nodes_of(by_work, by_work.args, two[2], two[0]).empty());

  Program ids;
  const std::string id = R"(, "graph id": 3)", other = R"(, "graph id": 4)";
  ids.replay({"a"}, 0, id).replay({"a", "b"}, 0, id).replay({"a"}, 0, other);
  const Graphs by_id(ids);
  ASSERT_EQ(by_id.joined.replays.graphs.size(), 2u);
  EXPECT_EQ(by_id.joined.replays.graphs[0].id, 3);
  EXPECT_EQ(by_id.joined.replays.graphs[0].usual, 1u) << "the whole one";
  EXPECT_FALSE(by_id.joined.captured);
}

TEST(Join, CallsWithoutNamesByTheirNumber) {
  Program text;
  text.capture(kOps, 4, 2);  // Launched by another thread of the process.
  for (int i = 0; i < 3; ++i) text.replay(kKernels);
  const Graphs found(text);
  EXPECT_EQ(found.join().by, JoinedBy::kCount);
  EXPECT_TRUE(found.join().sized);
  EXPECT_EQ(found.join().note, "");
  EXPECT_EQ(found.node(2), "aten::relu 4");
  // Each replay's rows say so, and which replay they are of.
  const auto& last = found.joined.replays.replays[2];
  EXPECT_EQ(found.args.captured(last.rows[1])->replay, 2u);
  EXPECT_EQ(found.args.captured(last.launch), nullptr);
}

// The number of kernels is that of every batch size: only a batch that holds the one
// of the launch is its capture's, and then what the graph computes.
TEST(Join, ByNumberOfAnotherFileTheBatchDecides) {
  const auto small = file_of(Program().capture(kOps, 4), 4);
  const auto joined = [&](const std::string& range, Captures files) {
    return Graphs(Program().in(range, 100).replay(kKernels), std::move(files));
  };
  const auto padded = joined("step[DECODE bs=3]", {small});
  EXPECT_EQ(padded.join().by, JoinedBy::kCount);
  EXPECT_TRUE(padded.join().sized);
  EXPECT_EQ(timeline::list_engine_steps(padded, &padded.args).at(0).scope.padded_batch,
            4);
  // Not the next batch, which has other kernels.
  const auto none = file_of(Program().capture({"aten::mm"}, 3), 3);
  EXPECT_FALSE(joined("step[DECODE bs=3]", {small, none}).join().sized);
  // Tokens of uneven drafts.
  const auto uneven = joined("execute_context_0(0)_generation_2(3)", {small});
  EXPECT_EQ(timeline::list_engine_steps(uneven, &uneven.args).at(0).scope.rows(),
            (std::array<std::int64_t, 2>{3, 4}));
  const auto larger = joined("step[DECODE bs=5]", {small});
  EXPECT_FALSE(larger.join().sized);
  EXPECT_EQ(larger.join().note, "captured for a batch of 4, and launched for 5");
  EXPECT_EQ(timeline::list_engine_steps(larger, &larger.args).at(0).scope.padded_batch,
            -1);
}

TEST(Join, AnotherNumberIsNotJoined) {
  Program text;
  text.capture(kOps, 4).replay({"gemm", "add"});
  const Graphs found(text);
  EXPECT_EQ(found.join().by, JoinedBy::kNone);
  EXPECT_EQ(found.join().capture, nullptr);
  EXPECT_EQ(found.join().note, "it has 2 kernels; captured were 3");
}

TEST(Join, OnlyWhatWasCapturedCounts) {
  TraceText text;
  text.call("cudaStreamBeginCapture", 0, 1, 1);
  text.op("aten::mm", 10, 15, square(4)).call("cudaLaunchKernel", 12, 3, 2);
  text.call("cudaLaunchKernel", 20, 3, 3, 2).kernel(30, 5, 3, "of another thread");
  text.call("cudaMemcpyAsync", 40, 3, 4);
  text.call("cudaStreamEndCapture", 60, 1, 5);
  text.call("cudaLaunchKernel", 70, 3, 6);  // Its work is lost.
  text.call("cudaGraphLaunch", 80, 5, 7).kernel(90, 5, 7);
  const Graphs found(text);
  EXPECT_EQ(found.join().by, JoinedBy::kCount) << found.join().note;
  EXPECT_EQ(found.node(0), "aten::mm 4");
}

TEST(Join, WithoutNamesWhatIsInDoubtIsNotJoined) {
  Program sizes;
  sizes.capture(kOps, 4).capture(kOps, 8).replay(kKernels);
  EXPECT_EQ(Graphs(sizes).join().note,
            "launches of several operators have as many kernels");
  Program alike;
  alike.capture(kOps, 4).capture(kOps, 4).replay(kKernels);
  EXPECT_TRUE(Graphs(alike).join().sized);
  Program streams;
  streams.capture(kOps, 4).replay(kKernels, 0, "", 2);
  EXPECT_EQ(Graphs(streams).join().note,
            "its kernels ran on 2 streams, and the captured calls name none: their "
            "order is unknown");
}

TEST(Join, OfSeveralBatchesTheOneWithTheSameGrids) {
  const Captures files{file_of(warm_up(4, 10), 4), file_of(warm_up(8, 20), 8)};
  const Graphs found(Program().replay(kKernels, 20), files);
  EXPECT_EQ(found.join().by, JoinedBy::kSequence);
  EXPECT_EQ(found.join().capture->batch_size, 8);
  EXPECT_TRUE(found.join().sized);
  EXPECT_EQ(found.node(0), "aten::mm 8");
  const auto& of = *found.join().capture;
  EXPECT_EQ(of.frames.at(of.launches.at(0).frame).line, 18);

  const Graphs other(Program().replay(kKernels, 30), files);
  EXPECT_EQ(other.join().note, "captured with other sizes: 0 of 3 grids are the same");
  EXPECT_FALSE(other.join().sized);
  EXPECT_EQ(other.node(0), "aten::mm 4") << "the operators are, all the same";
}

TEST(Join, WithoutGridsTheBatchOfTheAnnotationPadded) {
  const Captures files{file_of(warm_up(4, 0), 4), file_of(warm_up(8, 0), 8),
                       file_of(warm_up(16, 0), 16)};
  const auto batch = [&](const std::string& range) {
    const Graphs found(Program().in(range, 100).replay(kKernels), files);
    return found.join().sized ? *found.join().capture->batch_size : -1;
  };
  EXPECT_EQ(batch("step[DECODE bs=7]"), 8);
  EXPECT_EQ(batch("execute_context_1(2)_generation_6(6)"), 8);
  EXPECT_EQ(batch("execute_16_context_1(sq9sk9)_generation_7(sq7sk7)"), 16);
  EXPECT_EQ(batch("step[DECODE bs=17]"), -1);
  EXPECT_EQ(batch("decode"), -1);
  EXPECT_EQ(Graphs(Program().replay(kKernels), files).join().note,
            "captures of several sizes have the same kernels");
}

TEST(Join, WarmUpWithOtherKernelsInBetweenIsAligned) {
  Program warm = warm_up(4, 10);
  warm.run("aten::copy_", "copy", 4, 1);
  Names kernels = kKernels;
  for (int i = 0; i < 4; ++i) {
    warm.run("aten::mul", "mul" + std::to_string(i), 4, 10);
    kernels.push_back("mul" + std::to_string(i));
  }
  kernels.push_back("only in the graph");
  const Graphs found(Program().replay(kernels, 10), {file_of(warm, 4)});
  EXPECT_EQ(found.join().by, JoinedBy::kAlignment);
  EXPECT_EQ(found.join().note, "7 of 8 nodes are captured");
  EXPECT_EQ(found.node(3), "aten::mul 4");
  EXPECT_EQ(found.join().launches.back(), kNoRow);
  const Graphs less(Program().replay({"gemm", "x", "y"}, 10), {file_of(warm, 4)});
  EXPECT_EQ(less.join().note, "no capture has its kernels: at most 1 of 3");
}

TEST(Join, OfSeveralAlignmentsTheOneWithTheSameGrids) {
  const auto file = [](int batch, int blocks) {
    auto warm = warm_up(batch, blocks);
    warm.run("aten::copy_", "copy", batch, 1).run("aten::mul", "mul", batch, blocks);
    return file_of(warm, batch);
  };
  const Names kernels{"gemm", "add", "max", "mul"};
  const Captures files{file(4, 10), file(8, 20)};
  const Graphs found(Program().replay(kernels, 20), files);
  EXPECT_EQ(found.join().by, JoinedBy::kAlignment);
  EXPECT_EQ(found.node(3), "aten::mul 8");
  EXPECT_TRUE(found.join().sized);
  const Captures without{file(4, 0), file(8, 0)};
  EXPECT_FALSE(Graphs(Program().replay(kernels), without).join().sized);
  const Graphs named(Program().in("step[DECODE bs=5]", 90).replay(kernels), without);
  EXPECT_EQ(named.node(3), "aten::mul 8");
  EXPECT_TRUE(named.join().sized);
}

TEST(Join, HipNamesWhatItCaptures) {
  TraceText text;
  const auto call = [&](const std::string& name, double at, int id,
                        const std::string& more = "") {
    text.host("cuda_runtime", name, at, 5,
              R"("correlation": )" + std::to_string(id) + more);
  };
  call("hipStreamBeginCapture", 0, 1);
  for (int i = 0; i < 2; ++i) {
    text.op(kOps[static_cast<std::size_t>(i)], 10 + 20 * i, 15, square(4));
    call("hipLaunchKernel", 12 + 20 * i, 2 + i,
         R"(, "kernel": ")" + kKernels[static_cast<std::size_t>(i)] + '"' + grid(10));
  }
  call("hipStreamEndCapture", 60, 8);
  call("hipGraphLaunch", 70, 9);
  text.kernel(80, 5, 9, "gemm").kernel(90, 5, 9, "add");
  const Graphs found(text);
  EXPECT_EQ(found.join().by, JoinedBy::kSequence);
  EXPECT_EQ(found.node(1), "aten::add 4");
}

TEST(Join, OfOtherOperatorsWithTheSameKernelsNone) {
  Program warm;
  warm.run("aten::add", "add", 4, 10).run("aten::add_", "add", 4, 10);
  EXPECT_EQ(Graphs(Program().replay({"add"}, 10), {file_of(warm, 4)}).join().note,
            "launches of several operators have the same kernels");
}

}  // namespace
}  // namespace tta::graphs

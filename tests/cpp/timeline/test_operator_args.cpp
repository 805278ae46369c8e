// SPDX-License-Identifier: BSD-3-Clause
// What operators say of their inputs, and collectives of themselves.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/trace_text.h"
#include "timeline/event_args.h"

namespace tta::timeline {
namespace {

using test::TraceText;

// Holds what EventArgs refers to. Row 0 is the first event added.
struct Read {
  explicit Read(const TraceText& text)
      : trace(text.load()), timeline(make_timeline(trace)), args(timeline) {}
  trace::Trace trace;
  Timeline timeline;
  EventArgs args;
};

TEST(OperatorArgs, OfAnOperatorsInputs) {
  const Read read(TraceText()
                      .op("aten::copy_", 0, 5,
                          R"("Input Dims": [[2, 3], [2, 3], [], [[4], [5]]],
                 "Input Strides": [[3, 1], [1, 2], [], [[1], [1]]],
                 "Input type": ["float", "c10::Half", "Scalar", "TensorList"])")
                      .op("aten::mul", 10, 5, R"("Input Dims": [[2, 3]])")
                      .op("aten::mm", 20, 5));
  const auto* copy = read.args.op(0);
  ASSERT_NE(copy, nullptr);
  EXPECT_EQ(copy->dims,
            (std::vector<std::vector<std::int64_t>>{{2, 3}, {2, 3}, {}, {}}));
  EXPECT_EQ(copy->strides,
            (std::vector<std::vector<std::int64_t>>{{3, 1}, {1, 2}, {}, {}}));
  EXPECT_EQ(copy->types,
            (std::vector<std::string>{"float", "c10::Half", "Scalar", "TensorList"}));
  EXPECT_EQ(read.args.op(1), nullptr);  // no rule asks for it
  const auto* product = read.args.op(2);
  EXPECT_TRUE(product == nullptr || product->dims.empty());
}

TEST(OperatorArgs, AnInputOfOddSizesHasNone) {
  const Read read(TraceText().op("aten::mm", 0, 5,
                                 R"("Input Dims": [["s0", 64], [-1, 4], [2, null], [7]],
             "Input type": ["float", 5, null, {"a": 1}])"));
  const auto* op = read.args.op(0);
  ASSERT_NE(op, nullptr);
  EXPECT_EQ(op->dims, (std::vector<std::vector<std::int64_t>>{{}, {}, {}, {7}}));
  EXPECT_EQ(op->types, (std::vector<std::string>{"float", "", "", ""}));
}

TEST(OperatorArgs, ARepeatedKeyDoesNotAddInputs) {
  const Read read(TraceText().op("aten::mm", 0, 5,
                                 R"("Input Dims": [[1]], "Input Dims": [[2]],
             "Input type": ["a"], "Input type": ["b"])"));
  EXPECT_EQ(read.args.op(0)->dims, (std::vector<std::vector<std::int64_t>>{{2}}));
  EXPECT_EQ(read.args.op(0)->types, (std::vector<std::string>{"b"}));
}

TEST(OperatorArgs, OfACollective) {
  const std::string said = R"("Collective name": "allreduce", "dtype": "BFloat16",
      "Process Group Name": "0", "In msg nelems": 1000, "Out msg nelems": 4000,
      "Group size": 8, "Seq": 17)";
  const Read read(TraceText()
                      .op("record_param_comms", 0, 5, said)
                      .call("cudaLaunchKernel", 1, 2, 1)
                      .device_work("kernel", "ncclDevKernel_AllReduce", 10, 10, 1,
                                   ", " + said, 7, 0)
                      .op("record_param_comms", 20, 5, R"("In msg nelems": 3)"));
  for (const std::uint32_t row : {0u, 2u}) {
    const auto* collective = read.args.collective(row);
    ASSERT_NE(collective, nullptr);
    EXPECT_EQ(collective->name, "allreduce");
    EXPECT_EQ(collective->group, "0");
    EXPECT_EQ(collective->group_size, 8);
    EXPECT_EQ(collective->sequence, 17);
    EXPECT_EQ(collective->bytes(), 8000);
  }
  EXPECT_EQ(read.args.collective(1), nullptr);
  EXPECT_EQ(read.args.collective(3), nullptr);  // it does not say which
}

TEST(OperatorArgs, BytesOfACollectiveNeedATypeAndFit) {
  CollectiveArgs args;
  args.dtype = "Double";
  EXPECT_EQ(args.bytes(), -1);
  args.in_elements = 10;
  EXPECT_EQ(args.bytes(), 80);
  args.out_elements = INT64_MAX / 4;
  EXPECT_EQ(args.bytes(), -1);
  args.out_elements = 20;
  args.dtype = "Quaternion";
  EXPECT_EQ(args.bytes(), -1);
}

TEST(OperatorArgs, ElementsHaveTheSizeOfTheirType) {
  EXPECT_EQ(element_bytes("float"), 4);
  EXPECT_EQ(element_bytes("c10::BFloat16"), 2);
  EXPECT_EQ(element_bytes("long int"), 8);
  EXPECT_EQ(element_bytes("Float8_e4m3fn"), 1);
  EXPECT_EQ(element_bytes("Scalar"), -1);
  EXPECT_EQ(element_bytes(""), -1);
}

}  // namespace
}  // namespace tta::timeline

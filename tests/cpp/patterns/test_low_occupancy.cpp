// SPDX-License-Identifier: BSD-3-Clause
// The rule on hand-worked traces: it fires, it stays silent, and where the line is.
#include <gtest/gtest.h>

#include "patterns/device_text.h"
#include "patterns/found.h"
#include "patterns/occupancy.h"

namespace tta::patterns {
namespace {

std::string occupied(double percent, const std::string& more = shape(8000)) {
  return more + ", \"est. achieved occupancy %\": " + std::to_string(percent);
}

std::int64_t low(const KernelText& trace) {
  return wasted(find_in(trace.text), PatternId::kLowOccupancy);
}

OccupancyLimit limit_of(const std::string& args) {
  KernelText trace;
  trace.kernel("my_softmax", 1000, args).wait();
  const auto found = find_in(trace.text);
  EXPECT_EQ(found.findings.size(), 1u);
  return static_cast<OccupancyLimit>(found.findings.at(0).subtype);
}

TEST(LowOccupancy, CostsWhatTheyLackOfAQuarter) {
  // 10 % of 25 %: three fifths of the time.
  EXPECT_EQ(low(KernelText().kernel("mine", 1000, occupied(10)).wait()), 600'000);
  EXPECT_EQ(low(KernelText().kernel("mine", 1000, occupied(22.5)).wait()), 100'000);
  EXPECT_EQ(low(KernelText().kernel("mine", 1000, occupied(25)).wait()), 0);
}

TEST(LowOccupancy, IsJudgedByTheAverageOfAName) {
  // 10 % for 300 us, 30 % for 900: 25 on average; a little less of the latter is not.
  const auto with = [](double high) {
    return low(KernelText()
                   .kernel("mine", 300, occupied(10))
                   .kernel("mine", high, occupied(30))
                   .wait());
  };
  EXPECT_EQ(with(900), 0);
  EXPECT_EQ(with(896), 180'000);
  // Another name hides nothing.
  EXPECT_EQ(low(KernelText()
                    .kernel("mine", 300, occupied(10))
                    .kernel("other", 900, occupied(30))
                    .wait()),
            180'000);
}

TEST(LowOccupancy, ShortKernelsAreNone) {
  const auto with = [](double dur) {
    KernelText trace;
    for (int i = 0; i < 20; ++i) trace.kernel("mine", dur, occupied(5));
    return low(trace.wait());
  };
  EXPECT_EQ(with(20), 20 * 16'000);
  EXPECT_EQ(with(19.9), 0);
}

TEST(LowOccupancy, TunedLibrariesAndSmallGridsAreNone) {
  for (const auto* name :
       {"volta_sgemm_128x64_nt", "cutlass_80_tensorop_s1688gemm", "nvjet_tst_64x64",
        "flash_fwd_kernel", "fmhaSm100aKernel", "cudnn::bn_fw_tr_1C11_kernel_NCHW"}) {
    EXPECT_EQ(low(KernelText().kernel(name, 1000, occupied(10)).wait()), 0) << name;
  }
  // By its operator, where the name says nothing.
  KernelText op;
  op.text.op("aten::mm", op.launch - 0.2, 5.6);
  EXPECT_EQ(low(op.kernel("kernel_0", 1000, occupied(10)).wait()), 0);
  EXPECT_EQ(low(KernelText().kernel("mine", 1000, occupied(10, shape(79))).wait()), 0);
  EXPECT_GT(low(KernelText().kernel("mine", 1000, occupied(10, shape(80))).wait()), 0);
}

TEST(LowOccupancy, NamesAreReadByWords) {
  for (const auto* name :
       {"GammaBetaBackwardCUDAKernel", "convert_kernel", "comm_kernel", "bilinear"}) {
    EXPECT_GT(low(KernelText().kernel(name, 1000, occupied(10)).wait()), 0) << name;
  }
  for (const auto* name : {"matmul_kernel", "my_mma_v2", "conv2d_c1_k1", "MyConv",
                           "implicit_convolve", "ConvolutionKernel", "fp8Gemm"}) {
    EXPECT_EQ(low(KernelText().kernel(name, 1000, occupied(10)).wait()), 0) << name;
  }
  const auto of = [](const std::string& op) {
    KernelText text;
    text.text.op(op, text.launch - 0.2, 5.6);
    return low(text.kernel("kernel_0", 1000, occupied(10)).wait());
  };
  EXPECT_EQ(of("aten::addmm"), 0);
  EXPECT_EQ(of("aten::_thnn_fused_lstm_cell"), 0);
  EXPECT_GT(of("record_param_comms"), 0);
  EXPECT_GT(of("aten::upsample_bilinear2d"), 0);
}

TEST(LowOccupancy, ManyBytesOfSharedMemoryMayBeForReuse) {
  const auto with = [](const std::string& name, int shared) {
    return low(KernelText()
                   .kernel(name, 1000, occupied(10, shape(8000, 128, 32, shared)))
                   .wait());
  };
  EXPECT_EQ(with("mine", 90 << 10), 0);
  EXPECT_EQ(with("my_softmax", 90 << 10), 600'000);
  EXPECT_EQ(with("mine", 0), 600'000);
}

TEST(LowOccupancy, UnknownIsNotLow) {
  EXPECT_EQ(low(KernelText().kernel("mine", 1000, ", \"grid\": [800, 1, 1]").wait()),
            0);
  // Kineto writes 0 where it could not tell; with no device to compute by, nothing is
  // known, nor without a grid.
  EXPECT_EQ(low(KernelText("").kernel("mine", 1000, occupied(0)).wait()), 0);
  EXPECT_EQ(low(KernelText().kernel("mine", 1000, occupied(10, "")).wait()), 0);
}

TEST(LowOccupancy, SaysWhatLimitsIt) {
  // 65536 registers: 255 a thread take 256, 8192 a warp, so 8 warps: one block of 256.
  EXPECT_EQ(limit_of(occupied(12.5, shape(8000, 256, 255))),
            OccupancyLimit::kRegisters);
  // 96 KiB: two blocks of 40 KiB with 128 threads each.
  EXPECT_EQ(limit_of(occupied(12.5, shape(8000, 128, 32, 40 << 10))),
            OccupancyLimit::kSharedMemory);
  // 32 blocks at most, of 8 threads each.
  EXPECT_EQ(limit_of(occupied(12.5, shape(8000, 8))), OccupancyLimit::kBlockSize);
  // One block of 128 a multiprocessor, though 16 would fit.
  EXPECT_EQ(limit_of(occupied(6, shape(80, 128))), OccupancyLimit::kGrid);
  EXPECT_EQ(limit_of(occupied(12.5, ", \"grid\": [8000, 1, 1]")),
            OccupancyLimit::kUnknown);
}

TEST(LowOccupancy, TheProfilersOwnWordComesFirst) {
  const auto with = [](const std::string& factors) {
    return limit_of(occupied(12.5, shape(8000, 256, 255)) +
                    ", \"occupancy\": {\"limitingFactors\": \"" + factors + "\"}");
  };
  EXPECT_EQ(with("SHARED_MEMORY"), OccupancyLimit::kSharedMemory);
  EXPECT_EQ(with("REGISTERS"), OccupancyLimit::kRegisters);
  EXPECT_EQ(with("BLOCKS"), OccupancyLimit::kBlockSize);
  EXPECT_EQ(with("?"), OccupancyLimit::kUnknown);
}

TEST(LowOccupancy, IsComputedWhereKinetoSaysNothing) {
  // One block of 128 threads with 90 KiB: 6.25 %, a quarter of the quarter.
  EXPECT_EQ(low(KernelText()
                    .kernel("my_softmax", 1000, shape(8000, 128, 32, 90 << 10))
                    .wait()),
            750'000);
  // Compute capability 8 keeps 1 KiB a block: 48 KiB twice no longer fit into 96.
  const auto with = [](int major) {
    return low(KernelText(device_header("x", major))
                   .kernel("my_softmax", 1000, shape(8000, 128, 32, 48 << 10))
                   .wait());
  };
  EXPECT_EQ(with(7), 500'000);
  EXPECT_EQ(with(8), 750'000);
  // AMD's limits are others.
  EXPECT_EQ(low(KernelText(device_header("AMD Instinct MI300X", 9, 4, 64))
                    .kernel("my_softmax", 1000, shape(8000, 128, 32, 90 << 10))
                    .wait()),
            0);
}

}  // namespace
}  // namespace tta::patterns

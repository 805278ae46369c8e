// SPDX-License-Identifier: BSD-3-Clause
// Rules of kernels that do not fill the device, on hand-worked traces: small_grid,
// low_occupancy.
#include "patterns/device_text.h"
#include "patterns/found.h"

namespace tta::patterns {
namespace {

// One kernel that runs for `dur` us, and a wait for it.
KernelText one(const std::string& name, double dur, const std::string& args,
               const std::string& header = device_header()) {
  return KernelText(header).kernel(name, dur, args).wait();
}
KernelText grid(int blocks, double dur = 400) { return one("a", dur, shape(blocks)); }

KernelText twenty(double dur, const std::string& args) {
  KernelText trace;
  for (int i = 0; i < 20; ++i) trace.kernel("a", dur, args);
  return trace.wait();
}

KernelText a_share(double small) {
  return KernelText()
      .kernel("a", 1000 - small, shape(800))
      .kernel("b", small, shape(8))
      .wait();
}

KernelText beside(int stream) {
  KernelText trace;
  trace.kernel("a", 400, shape(8));
  trace.at = 1000;
  return trace.kernel("b", 400, shape(8), stream).wait();
}

// Each launch comes after the kernel before has ended.
TraceText late_launches() {
  TraceText text;
  text.header(device_header());
  for (int i = 0; i < 10; ++i) {
    const double at = i * 500;
    text.call("cudaLaunchKernel", at, 5, i + 1)
        .device_work("kernel", "a", at + 10, 400, i + 1, shape(8), 7, 0);
  }
  return text;
}

// The next launch was 100 us before the end.
TraceText early_launch() {
  return TraceText()
      .header(device_header())
      .call("cudaLaunchKernel", 0, 5, 1)
      .device_work("kernel", "a", 10, 400, 1, shape(8), 7, 0)
      .call("cudaLaunchKernel", 305, 5, 2)
      .device_work("kernel", "b", 410, 50, 2, shape(800), 7, 0);
}

TEST(SmallGrid, Costs) {
  const Cost cases[] = {
      {"0.8 of the device exactly", grid(64), 400'000 / 5},
      {"nearly all of it", grid(65), 0},
      {"all", grid(80), 0},
      {"many blocks", grid(800), 0},
      {"a fifth of the busy time", a_share(200), 180'000},
      {"less", a_share(199), 0},
      {"long kernels", twenty(10, shape(8)), 20 * 9'000},
      {"short ones", twenty(9.9, shape(8)), 0},
      {"a missing grid is not a small one", one("a", 400, ""), 0},
      {"nor is an empty one", one("a", 400, ", \"grid\": [0, 0, 0]"), 0},
      {"an unknown device", one("a", 400, shape(8), ""), 0},
      {"other streams fill the device", beside(8), 0},
      {"communication", one("ncclDevKernel_AllReduce_Sum_f32", 400, shape(8)), 0},
      {"where the host is the limit", late_launches(), 0},
      {"as far as the next launch was early", early_launch(), 100'000},
  };
  expect_costs(kSmallGrid, cases);
}

TEST(SmallGrid, NamesTheGridThatCostMostAndTheUnits) {
  const auto mixed =
      KernelText().kernel("a", 1000, shape(800)).kernel("b", 400, shape(12)).wait();
  EXPECT_EQ(all_in(mixed), "small_grid x1: 340 us, 0 idle");  // 68 of 80 idle
  const auto f = first(mixed, kSmallGrid);
  EXPECT_EQ(f.claims[0].begin, 2'000'000);
  EXPECT_TRUE(says(f.message, "a grid of 12 blocks on 80 SMs"));
  const auto message = [](const KernelText& text) {
    return find_in(text).findings.at(0).message;
  };
  KernelText several;
  several.kernel("a", 300, shape(1));
  for (int i = 0; i < 10; ++i) several.kernel("b", 100, shape(40));
  EXPECT_TRUE(says(message(several.wait()), "mostly a grid of 40 blocks on 80 SMs"));
  const auto amd = device_header("AMD Instinct MI300X", 9, 4, 64);
  EXPECT_TRUE(says(message(one("a", 400, shape(8), amd)), "on 80 CUs"));
  // Without a header, Kineto's own relation tells.
  const auto kineto = one("a", 400, shape(8) + ", \"blocks per SM\": 0.1", "");
  EXPECT_EQ(wasted(kineto, kSmallGrid), 360'000);
  EXPECT_TRUE(says(message(kineto), "8 blocks on 80 SMs"));
}

std::string occupied(double percent, const std::string& more = shape(8000)) {
  return more + ", \"est. achieved occupancy %\": " + std::to_string(percent);
}
KernelText named(const std::string& name, const std::string& args = occupied(10)) {
  return one(name, 1000, args);
}
KernelText of_op(const std::string& op) {
  KernelText trace;
  trace.text.op(op, trace.launch - 0.2, 5.6);
  return trace.kernel("kernel_0", 1000, occupied(10)).wait();
}

// 10 % for 300 us, 30 % for `high`.
KernelText average(double high, const std::string& name = "mine") {
  return KernelText()
      .kernel("mine", 300, occupied(10))
      .kernel(name, high, occupied(30))
      .wait();
}

TEST(LowOccupancy, Costs) {
  const auto shared = shape(8000, 128, 32, 90 << 10);
  const auto twice = shape(8000, 128, 32, 48 << 10);
  const auto amd = device_header("AMD Instinct MI300X", 9, 4, 64);
  const Cost cases[] = {
      {"10 % of 25 %: three fifths", named("mine"), 600'000},
      {"a tenth", named("mine", occupied(22.5)), 100'000},
      {"a quarter is enough", named("mine", occupied(25)), 0},
      {"25 on average", average(900), 0},
      {"a little less", average(896), 180'000},
      {"another name hides nothing", average(900, "other"), 180'000},
      {"long kernels", twenty(20, occupied(5)), 20 * 16'000},
      {"short ones", twenty(19.9, occupied(5)), 0},
      {"small grids", named("mine", occupied(10, shape(79))), 0},
      {"full ones", named("mine", occupied(10, shape(80))), kSome},
      {"much shared memory may be for reuse", named("mine", occupied(10, shared)), 0},
      {"not in a softmax", named("my_softmax", occupied(10, shared)), 600'000},
      {"unknown is not low", named("mine", ", \"grid\": [800, 1, 1]"), 0},
      // Kineto writes 0 where it could not tell; with no device to compute by, nothing
      // is known, nor without a grid.
      {"no device", one("mine", 1000, occupied(0), ""), 0},
      {"no grid", named("mine", occupied(10, "")), 0},
      // One block of 128 threads with 90 KiB: 6.25 %, a quarter of the quarter.
      {"computed where Kineto says nothing", named("my_softmax", shared), 750'000},
      {"two blocks", one("my_softmax", 1000, twice, device_header("x", 7)),
       480'000},  // 12.5 % is 13
      // Compute capability 8 keeps 1 KiB a block: 48 KiB twice no longer fit into 96.
      {"one", one("my_softmax", 1000, twice, device_header("x", 8)),
       760'000},  // 6.25 % is 6
      {"AMD's limits are others", one("my_softmax", 1000, shared, amd), 0},
  };
  expect_costs(kLowOccupancy, cases);
}

TEST(LowOccupancy, TunedLibrariesAreNoneByTheWordsOfTheirNames) {
  const auto low = [](const KernelText& trace) { return wasted(trace, kLowOccupancy); };
  for (const auto* name :
       {"volta_sgemm_128x64_nt", "cutlass_80_tensorop_s1688gemm", "nvjet_tst_64x64",
        "flash_fwd_kernel", "fmhaSm100aKernel", "cudnn::bn_fw_tr_1C11_kernel_NCHW",
        "matmul_kernel", "my_mma_v2", "conv2d_c1_k1", "MyConv", "implicit_convolve",
        "ConvolutionKernel", "fp8Gemm"}) {
    EXPECT_EQ(low(named(name)), 0) << name;
  }
  for (const auto* name :
       {"GammaBetaBackwardCUDAKernel", "convert_kernel", "comm_kernel", "bilinear"}) {
    EXPECT_GT(low(named(name)), 0) << name;
  }
  // By its operator, where the name says nothing.
  for (const auto* op : {"aten::mm", "aten::addmm", "aten::_thnn_fused_lstm_cell"}) {
    EXPECT_EQ(low(of_op(op)), 0) << op;
  }
  EXPECT_GT(low(of_op("record_param_comms")), 0);
  EXPECT_GT(low(of_op("aten::upsample_bilinear2d")), 0);
}

TEST(LowOccupancy, SaysWhatLimitsIt) {
  const auto limit = [](const std::string& args) {
    const auto text = all_in(named("my_softmax", args));
    return text.substr(0, text.find(' '));
  };
  // 65536 registers: 255 a thread take 256, 8192 a warp, so 8 warps: one block of 256.
  EXPECT_EQ(limit(occupied(12.5, shape(8000, 256, 255))), "low_occupancy.registers");
  // 96 KiB: two blocks of 40 KiB with 128 threads each.
  EXPECT_EQ(limit(occupied(12.5, shape(8000, 128, 32, 40 << 10))),
            "low_occupancy.shared_memory");
  // 32 blocks at most, of 8 threads each.
  EXPECT_EQ(limit(occupied(12.5, shape(8000, 8))), "low_occupancy.block_size");
  // One block of 128 a multiprocessor, though 16 would fit.
  EXPECT_EQ(limit(occupied(6, shape(80, 128))), "low_occupancy.grid");
  EXPECT_EQ(limit(occupied(12.5, ", \"grid\": [8000, 1, 1]")), "low_occupancy.unknown");
  // The profiler's own word comes first.
  const auto with = [&](const std::string& factors) {
    return limit(occupied(12.5, shape(8000, 256, 255)) +
                 ", \"occupancy\": {\"limitingFactors\": \"" + factors + "\"}");
  };
  EXPECT_EQ(with("SHARED_MEMORY"), "low_occupancy.shared_memory");
  EXPECT_EQ(with("REGISTERS"), "low_occupancy.registers");
  EXPECT_EQ(with("BLOCKS"), "low_occupancy.block_size");
  EXPECT_EQ(with("?"), "low_occupancy.unknown");
}

}  // namespace
}  // namespace tta::patterns

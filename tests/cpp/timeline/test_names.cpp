// SPDX-License-Identifier: BSD-3-Clause
// What names mean: how globs are looked for, what follows from others, and copies.
#include "timeline/names.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/trace_text.h"
#include "timeline/timed.h"

namespace tta::timeline {
namespace {

using enum Name;

struct Case {
  const char* name;
  Name what;
  bool means;
};

void expect(const std::vector<Case>& cases) {
  for (const auto& c : cases) {
    EXPECT_EQ(means(c.name, c.what), c.means)
        << '"' << c.name << "\", meaning " << static_cast<int>(c.what);
  }
}

TEST(Names, AreLookedForAtTheirPlace) {
  expect({
      // Whole, letter for letter.
      {"aten::copy_", kHostCopy, true},
      {"aten::copy", kHostCopy, false},
      {"aten::copy__", kHostCopy, false},
      {"Aten::copy_", kHostCopy, false},
      {"", kHostCopy, false},
      // At the begin, at the end, anywhere.
      {"hipMalloc", kHipCall, true},
      {"__hipMalloc", kHipCall, false},
      {"_c10d_functional::wait_tensor", kCollectiveWait, true},
      {"c10d_functional::wait_tensor_", kCollectiveWait, false},
      {"cudaGraphLaunch_v10000", kGraphLaunch, true},
      {"cudaGraphLaunc", kGraphLaunch, false},
      {"GraphLaunch", kGraphLaunch, true},
      // At both ends, or with something between.
      {"torch/_dynamo/convert_frame.py(12): _compile", kCompiles, true},
      {"torch/_dynamo/convert_frame.py(12): _compile_", kCompiles, false},
      {"torch/_dynamo/convert_frame.py(12): call", kCompiles, false},
      {"aten::native_batch_norm_backward", kBatchNorm, true},
      {"mine::batch_norm", kBatchNorm, false},
      {"direct_copy_kernel nocast", kChangesLayout, true},
      {"nocast direct_copy_kernel", kChangesLayout, true},
      {"nocast direct_copy_kerne", kChangesLayout, false},
      // A second try, where the first letters come more often than the name.
      {"cudaGraphGraphLaunch", kGraphLaunch, true},
      {"x: stop: stop", kStopsProfiler, false},
      {"torch/profiler/profiler.py(9): stop: stop", kStopsProfiler, true},
  });
}

TEST(Names, OfAnyCaseAndWordsAndCallsAndBuiltins) {
  expect({
      {"at::native::SoftMax_warp", kMemoryBound, true},
      {"SOFTMAX", kMemoryBound, true},
      // Words: as parts they are in many others.
      {"sm80_mma_kernel", kTuned, true},
      {"LinearForward", kTuned, true},
      {"myMMAKernel", kTuned, false},
      {"gamma_beta", kTuned, false},
      {"convert_dtype", kTuned, false},
      {"bilinear2d", kTuned, false},
      {"conv", kTuned, true},
      {"deconv", kTuned, false},
      // Without prefix and version.
      {"cudaMalloc", kAllocates, true},
      {"cuMemAlloc_v2", kAllocates, true},
      {"hipExtMallocWithFlags", kAllocates, true},
      {"cudaMallocAsync", kAllocates, false},
      {"cudaFree", kReleases, true},
      {"cuMemFreeAsync", kReleases, false},
      // Before what follows in their name.
      {"<built-in method acquire of _thread.lock object at 0x7f>", kWaitsForOthers,
       true},
      {"<built-in function select>", kWaitsForOthers, true},
      {"<built-in method __enter__ of _thread.lock object at 0x7f>", kWaitsForOthers,
       true},
      {"<built-in method wait_all of X object at 0x7f>", kWaitsForOthers, false},
      {"train.py(3): acquire", kWaitsForOthers, false},
  });
}

TEST(Names, OneMeaningOfADriversCallFollowsFromOthers) {
  struct Call {
    const char* name;
    Name is;
  };
  for (const auto& [name, is] : std::vector<Call>{
           {"cuModuleLoadDataEx", kLoads},
           {"hipMalloc", kMemory},
           {"cudaStreamSynchronize", kInOrder},
           {"cudaLaunchKernel", kInOrder},
           {"cudaEventRecord", kInOrder},
           // It may be the first call of all.
           {"cudaEventCreateWithFlags", kSetsUp},
           {"cudaFuncGetAttributes", kSetsUp},
       }) {
    for (const auto other : {kLoads, kMemory, kInOrder, kSetsUp}) {
      EXPECT_EQ(means(name, other), other == is) << name;
    }
    EXPECT_TRUE(means(name, kNoOperator)) << name;
  }
  expect({{"runFunctionMalloc", kSetsUp, false},
          {"aten::mm", kNoOperator, false},
          {"compile_fx (dynamo_timed)", kNoOperator, true},
          {"cu (dynamo_timed)", kSetsUp, false},
          {"cudaMemcpy", kBlocks, true},
          {"cudaMemcpyAsync", kBlocks, false},
          {"cudaDeviceSynchronize", kBlocks, true},
          {"enqueueCommandMemcpy", kBlocks, false},
          {"autograd::engine::evaluate_function: MulBackward0", kOperator, false},
          {"torchvision::nms", kOperator, true},
          {"volta_sgemm_128x64", kOrdinaryUnits, true},
          {"sgemm_1688_tensorop", kOrdinaryUnits, false}});
}

TEST(Names, OfKernelsThatCommunicate) {
  for (const auto* name :
       {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "ncclSymkDevKernel_AllGather_LL", "mscclKernel_Sum_half_Simple_false",
        "void mscclpp::allreduce7<__half>()", "oneccl_reduce", "hcom_allReduce_",
        "void deep_ep::intranode::dispatch<8, 768, 8192>()",
        "internode_ll::combine<true, 7168>", "EpDispatchIntraNodeKernel_bf16",
        "void tensorrt_llm::kernels::moe_comm::moeA2ADispatchKernel<1>()",
        "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>()",
        "multimem_one_shot_all_reduce_kernel", "two_shot_all_reduce_kernel_inplace",
        "flashinfer::trtllm_mnnvl_allreduce::oneshotAllreduceFusionKernel<8>",
        "reduce_scatter_cross_device_store", "nvshmemi_alltoall_on_stream"}) {
    EXPECT_TRUE(means(name, kCommunication)) << name;
  }
  // What computes on a collective's result, or reduces inside one device.
  for (const auto* name :
       {"triton_poi_fused_add_all_reduce_wait_tensor_3",
        "triton_red_fused__to_copy_all_gather_into_tensor_mean_0",
        "softmax_warp_forward<BlockAllReduce<float>>", "void scatter_reduce<float>",
        "void at::native::vectorized_gather_kernel<16>", "groupnorm_kernel_dispatch_up",
        "_combined_routing_compute"}) {
    EXPECT_FALSE(means(name, kCommunication)) << name;
  }
}

TEST(Names, OfACopySayItsDirection) {
  struct Copy {
    const char* name;
    CopyDirection goes;
  };
  for (const auto& [name, goes] : std::vector<Copy>{
           {"Memcpy HtoD (Pageable -> Device)", CopyDirection::kToDevice},
           {"Memcpy DtoH (Device -> Pinned)", CopyDirection::kToHost},
           {"Memcpy DtoD (Device -> Device)", CopyDirection::kInDevice},
           {"Memcpy PtoP (Device -> Device)", CopyDirection::kBetweenDevices},
           {"Memcpy HtoH (Pinned -> Pageable)", CopyDirection::kInHost},
           {"CopyHostToDevice", CopyDirection::kToDevice},
           {"CopyDeviceToHost", CopyDirection::kToHost},
           {"CopyDeviceToDevice", CopyDirection::kInDevice},
           {"CopyHostToHost", CopyDirection::kInHost},
           // Unknown where the name does not tell.
           {"Memcpy", CopyDirection::kUnknown},
           {"Memcpy HtoA (Pinned -> Array)", CopyDirection::kUnknown},
           {"", CopyDirection::kUnknown},
       }) {
    EXPECT_EQ(copy_direction(name), goes) << name;
  }
}

TEST(Names, OfATraceAreKnownByTheirRows) {
  const test::Timed t(test::TraceText()
                          .op("aten::copy_", 0, 5)
                          .call("cudaMemcpyAsync", 1, 3, 7)
                          .copy("Memcpy HtoD (Pageable -> Device)", 10, 5, 7, 4));
  EXPECT_TRUE(t.named(0, kHostCopy));
  EXPECT_TRUE(t.named(1, kAsync));
  EXPECT_FALSE(t.named(1, kHostCopy));
  EXPECT_TRUE(t.named(2, kPageable));
  EXPECT_EQ(t.names.direction(t.columns().name[2]), CopyDirection::kToDevice);
}

TEST(Names, PartsAreFoundAnywhereLetterForLetter) {
  EXPECT_TRUE(contains_any("cudaMemcpyAsync", {"Memset", "Async"}));
  EXPECT_TRUE(contains_any("cudaMemcpyAsync", {"cuda", "hip"}));
  EXPECT_FALSE(contains_any("cudaMemcpyAsync", {"async", "memcpy"}));
  EXPECT_FALSE(contains_any("cudaMemcpyAsync", {}));
}

}  // namespace
}  // namespace tta::timeline

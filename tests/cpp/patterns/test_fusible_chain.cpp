// SPDX-License-Identifier: BSD-3-Clause
// The rule on hand-worked traces: it fires, it stays silent, and where the line is.
#include <gtest/gtest.h>

#include <algorithm>

#include "patterns/found.h"

namespace tta::patterns {
namespace {

using test::TraceText;

struct Kernel {
  std::string name;
  double us;
};
const std::string kMul = "vectorized_elementwise_kernel<4, MulFunctor>";
const std::string kAdd = "vectorized_elementwise_kernel<4, AddFunctor>";
const std::string kGelu = "unrolled_elementwise_kernel<GeluCUDAKernel>";

// The kernels in a row, `repeats` times with a product of 300 us between, all launched
// early. `around` names what encloses the launches of each repetition.
class Chains {
 public:
  Chains(const std::vector<Kernel>& kernels, int repeats,
         const std::string& around = "") {
    for (int i = 0; i < repeats; ++i) {
      if (!around.empty()) text_.op(around, host_, 10.0 * double(kernels.size()));
      for (const auto& k : kernels) add(k.name, k.us);
      add("ampere_sgemm", 300);
    }
  }
  Chains& add(const std::string& name, double us) {
    ++id_;
    text_.call("cudaLaunchKernel", host_ + 1, 5, id_).kernel(device_, us, id_, name);
    host_ += 10;
    device_ += us;
    return *this;
  }
  TraceText& text() { return text_; }
  std::int64_t cost() { return wasted(find_in(text_), PatternId::kFusibleChain); }

 private:
  TraceText text_;
  double host_ = 0, device_ = 5'000;
  int id_ = 0;
};

const std::vector<Kernel> kThree = {{kMul, 40}, {kAdd, 60}, {kGelu, 30}};

TEST(FusibleChain, CostsHalfOfAllButTheLongest) {
  Chains chains(kThree, 6);
  const auto found = find_in(chains.text());
  ASSERT_FALSE(found.findings.empty());
  const auto& f = found.findings[0];
  EXPECT_EQ(f.pattern, PatternId::kFusibleChain);
  EXPECT_EQ(f.count, 6u);
  EXPECT_EQ(f.wasted_ns, 6 * (20'000 + 15'000));
  EXPECT_EQ(f.idle_ns, 0);
}

TEST(FusibleChain, TwoKernelsAreNoChain) {
  EXPECT_EQ(Chains({{kMul, 40}, {kAdd, 60}}, 20).cost(), 0);
}

TEST(FusibleChain, FourTimesIsNoHabit) {
  EXPECT_EQ(Chains(kThree, 4).cost(), 0);
  EXPECT_EQ(Chains(kThree, 5).cost(), 5 * 35'000);
}

TEST(FusibleChain, LongRunsGoFromParameterToParameter) {
  const auto run = [](int n) {
    std::vector<Kernel> kernels;
    for (int i = 0; i < n; ++i) kernels.push_back({i % 2 == 0 ? kMul : kAdd, 20});
    return Chains(kernels, 6).cost();
  };
  EXPECT_EQ(run(16), 6 * 15 * 10'000);
  EXPECT_EQ(run(17), 0);
}

TEST(FusibleChain, OneKernelAgainAndAgainHandsNothingOn) {
  EXPECT_EQ(Chains({{kAdd, 40}, {kAdd, 60}, {kAdd, 30}, {kAdd, 30}}, 20).cost(), 0);
}

TEST(FusibleChain, SumsWithinAChainAreCarriedAndNotCounted) {
  // An RMS norm of single operators: pow, mean, mul, mul.
  EXPECT_EQ(
      Chains({{kMul, 40}, {"reduce_kernel<MeanOps>", 50}, {kAdd, 60}, {kGelu, 30}}, 6)
          .cost(),
      6 * 35'000);
  EXPECT_EQ(Chains({{kMul, 40}, {"reduce_kernel<MeanOps>", 50}, {kAdd, 60}}, 20).cost(),
            0);
}

TEST(FusibleChain, OtherWorkEndsAChain) {
  EXPECT_EQ(
      Chains({{kMul, 40}, {kAdd, 60}, {"cudnn_softmax", 9}, {kGelu, 30}}, 20).cost(),
      0);
  EXPECT_EQ(
      Chains({{"multi_tensor_apply_kernel", 40}, {kAdd, 60}, {kGelu, 30}}, 20).cost(),
      0);
}

TEST(FusibleChain, OptimizersAndGradientsAreNoScope) {
  EXPECT_EQ(Chains(kThree, 6, "Optimizer.step#SGD.step").cost(), 0);
  EXPECT_EQ(Chains(kThree, 6, "torch::autograd::AccumulateGrad").cost(), 0);
  EXPECT_GT(Chains(kThree, 6, "DistributedDataParallel.forward").cost(), 0);
}

TEST(FusibleChain, AChainStaysWithinOneFunction) {
  const auto cost = [](double cut) {  // the first function ends after `cut` launches
    Chains chains({}, 0);
    for (int i = 0; i < 6; ++i) {
      const double at = i * 40;
      chains.text()
          .python("model.py(1): forward", at, cut * 10)
          .python("model.py(9): activate", at + cut * 10, 30 - cut * 10);
      for (const auto& k : kThree) chains.add(k.name, k.us);
      chains.add("ampere_sgemm", 300);
    }
    return chains.cost();
  };
  EXPECT_EQ(cost(2), 0);
  EXPECT_EQ(cost(3), 6 * 35'000);
}

TEST(FusibleChain, ChainsBesideOtherKernelsCostNothing) {
  const auto beside = [](double length) {  // a product on a stream of its own
    Chains chains(kThree, 6);
    chains.text().call("cudaLaunchKernel", 900, 5, 999);
    chains.text().kernel(5'000, length, 999, "gemm", 8);
    return chains.cost();
  };
  EXPECT_EQ(beside(6 * 430), 0);
  EXPECT_EQ(beside(3 * 430), 3 * 35'000);
}

TEST(FusibleChain, WhereTheHostIsTheLimitFasterKernelsGainNothing) {
  const auto cost = [](double period) {  // kernels of 20 us, one launched each `period`
    TraceText text;
    int id = 0;
    double device = 0;
    for (int i = 0; i < 50; ++i) {
      for (const auto& name : {kMul, kAdd, kGelu, std::string("ampere_sgemm")}) {
        const auto host = id * period;
        device = std::max(device, host + 7);
        ++id;
        text.call("cudaLaunchKernel", host, 5, id).kernel(device, 20, id, name);
        device += 20;
      }
    }
    return wasted(find_in(text), PatternId::kFusibleChain);
  };
  EXPECT_EQ(cost(60), 0);
  EXPECT_GT(cost(6), 50 * 19'000);
}

TEST(FusibleChain, UnderAHundredthItIsNoFinding) {
  const auto among = [](double more) {
    return Chains(kThree, 6).add("ampere_sgemm", more).cost();  // costs 210 us
  };
  // The span: 5 ms of launching ahead, less 1 us, 6 chains with products, and the rest.
  EXPECT_EQ(among(21'000 - 4'999 - 6 * 430), 210'000);
  EXPECT_EQ(among(21'001 - 4'999 - 6 * 430), 0);
}

}  // namespace
}  // namespace tta::patterns

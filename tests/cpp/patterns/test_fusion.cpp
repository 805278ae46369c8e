// SPDX-License-Identifier: BSD-3-Clause
// Rules of kernels that could be one, on hand-worked traces: fusible_chain,
// conv_bias_bn, unfused_attention.
#include "patterns/found.h"

namespace tta::patterns {
namespace {

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
    text_.launched(host_ + 1, device_, us, ++id_, 7, name);
    host_ += 10;
    device_ += us;
    return *this;
  }
  TraceText& text() { return text_; }
  operator const TraceText&() const { return text_; }

 private:
  TraceText text_ = TraceText().launched(1, 2, 4'998, 9999, 7, "ampere_sgemm");
  double host_ = 0, device_ = 5'000;
  int id_ = 0;
};

const std::vector<Kernel> kThree = {{kMul, 40}, {kAdd, 60}, {kGelu, 30}};

Chains alternating(int n) {
  std::vector<Kernel> kernels;
  for (int i = 0; i < n; ++i) kernels.push_back({i % 2 == 0 ? kMul : kAdd, 20});
  return Chains(kernels, 6);
}

// The first function ends after `cut` launches.
Chains two_functions(double cut) {
  Chains chains({}, 0);
  for (int i = 0; i < 6; ++i) {
    const double at = i * 40;
    chains.text()
        .python("model.py(1): forward", at, cut * 10)
        .python("model.py(9): activate", at + cut * 10, 30 - cut * 10);
    for (const auto& k : kThree) chains.add(k.name, k.us);
    chains.add("ampere_sgemm", 300);
  }
  return chains;
}

// A product on a separate stream.
Chains beside(double length) {
  Chains chains(kThree, 6);
  chains.text().launched(900, 5'000, length, 999, 8);
  return chains;
}

// Kernels of 20 us, one launched each `period`.
TraceText launched_each(double period) {
  TraceText text;
  int id = 0;
  double device = 0;
  for (int i = 0; i < 50; ++i) {
    for (const auto& name : {kMul, kAdd, kGelu, std::string("ampere_sgemm")}) {
      const auto host = id * period;
      device = std::max(device, host + 7);
      text.launched(host, device, 20, ++id, 7, name);
      device += 20;
    }
  }
  return text;
}

TEST(FusibleChain, Costs) {
  const std::string mean = "reduce_kernel<MeanOps>";
  const Cost cases[] = {
      {"two kernels", Chains({{kMul, 40}, {kAdd, 60}}, 20), 0},
      {"four times is no habit", Chains(kThree, 4), 0},
      {"five times is", Chains(kThree, 5), 5 * 46'900},
      {"a long run", alternating(16), 6 * 15 * 13'400},
      {"a longer one goes from parameter to parameter", alternating(17), 0},
      {"one kernel again and again",
       Chains({{kAdd, 40}, {kAdd, 60}, {kAdd, 30}, {kAdd, 30}}, 20), 0},
      // An RMS norm of single operators: pow, mean, mul, mul.
      {"sums within a chain are carried and not counted",
       Chains({{kMul, 40}, {mean, 50}, {kAdd, 60}, {kGelu, 30}}, 6), 6 * 46'900},
      {"nor do they make one", Chains({{kMul, 40}, {mean, 50}, {kAdd, 60}}, 20), 0},
      {"other work ends a chain",
       Chains({{kMul, 40}, {kAdd, 60}, {"cudnn_softmax", 9}, {kGelu, 30}}, 20), 0},
      {"so does that of optimizers",
       Chains({{"multi_tensor_apply_kernel", 40}, {kAdd, 60}, {kGelu, 30}}, 20), 0},
      {"an optimizer is no scope", Chains(kThree, 6, "Optimizer.step#SGD.step"), 0},
      {"nor are gradients", Chains(kThree, 6, "torch::autograd::AccumulateGrad"), 0},
      {"a module is", Chains(kThree, 6, "DistributedDataParallel.forward"), kSome},
      {"a chain stays within one function", two_functions(2), 0},
      {"and may fill it", two_functions(3), 6 * 46'900},
      {"beside other kernels", beside(6 * 430), 0},
      {"half of them", beside(3 * 430), 3 * 46'900},
      {"the host is the limit", launched_each(60), 0},
      // The span: 5 ms of launching ahead, less 1 us, 6 chains with products, and the
      // rest; they cost 281.4 us.
      {"a hundredth", Chains(kThree, 6).add("ampere_sgemm", 28'140 - 4'999 - 6 * 430),
       281'400},
      {"less", Chains(kThree, 6).add("ampere_sgemm", 28'141 - 4'999 - 6 * 430), 0},
  };
  expect_costs(kFusibleChain, cases);
  EXPECT_GT(wasted(launched_each(6), kFusibleChain), 50 * 19'000);
  // Two thirds of all but the longest.
  EXPECT_EQ(figures(find_in(Chains(kThree, 6)).findings.at(0)),
            "fusible_chain x6: 281.4 us, 0 idle");
}

// A convolution of 100 us on the device, the bias of 30 us added after it, and what
// follows; queued, so that the device never idles in between. In the backward pass the
// gradient of the bias is a sum of 25 us: both together cost what a finding has to.
TraceText convolution(const std::string& next, bool bias = true) {
  TraceText text;
  text.op("aten::conv2d", 0, 90, "\"Sequence number\": 5")
      .op("aten::convolution", 1, 88, "\"Sequence number\": 5")
      .op("aten::_convolution", 2, 86, "\"Sequence number\": 5")
      .op("aten::cudnn_convolution", 3, 20)
      .launched(5, 200, 100, 1);
  if (bias) text.op("aten::add_", 30, 20).launched(35, 300, 30, 2);
  text.op("aten::add_", 92, 5)  // of num_batches_tracked
      .op(next, 100, 50)
      .launched(110, 330, 100, 3)
      .op("ConvolutionBackward0", 200, 60, "\"Sequence number\": 5", 2)
      .op("aten::convolution_backward", 201, 58, "", 2);
  if (bias) {
    text.op("aten::sum", 210, 20, "", 2)
        .call("cudaLaunchKernel", 215, 5, 4, 2)
        .kernel(460, 25, 4)
        .launched(230, 485, 30, 10);
  }
  return text.launched(160, 430, 30, 9);
}

// Each kernel starts right after its launch.
TraceText host_is_the_limit() {
  return TraceText()
      .op("aten::conv2d", 0, 290)
      .op("aten::_convolution", 1, 288)
      .launched(5, 12, 80, 1)
      .op("aten::add_", 100, 90)
      .launched(105, 112, 80, 2)
      .op("aten::batch_norm", 300, 50)
      .launched(305, 312, 80, 3)
      .launched(160, 430, 30, 9);
}

// A convolution on the CPU whose bias takes `us`.
TraceText on_the_cpu(double us, const char* next = "aten::batch_norm", double at = 0) {
  return TraceText()
      .op("aten::conv2d", at, 300)
      .op("aten::_convolution", at + 1, 298)
      .op("aten::thnn_conv2d", at + 2, 100)
      .op("aten::add_", at + 110, us)
      .op(next, at + 310, 100);
}

TraceText one_of_two_normalized() {
  return on_the_cpu(70)
      .op("aten::conv2d", 1000, 300)
      .op("aten::_convolution", 1001, 298)
      .op("aten::add_", 1110, 90)
      .op("aten::relu", 1310, 100);
}

TEST(ConvBiasBn, Costs) {
  const Cost cases[] = {
      {"the added bias and its gradient", convolution("aten::batch_norm"),
       30'000 + 25'000},
      {"what another stream hides",
       convolution("aten::batch_norm").launched(20, 200, 300, 11, 8), 0},
      {"the host is the limit", host_is_the_limit(), 0},
      {"a bias that is used", convolution("aten::relu"), 0},
      {"of two only the normalized one", one_of_two_normalized(), 70'000},
      {"without a bias", convolution("aten::batch_norm", false), 0},
      {"another operator between may need the bias",
       convolution("aten::batch_norm").op("aten::clamp", 97.5, 1), 0},
      {"the least that counts", on_the_cpu(50), 50'000},
      {"less", on_the_cpu(49), 0},
      {"a hundredth", on_the_cpu(100).op("aten::mm", 9'999, 1), 100'000},
      {"under it", on_the_cpu(100).op("aten::mm", 10'000, 1), 0},
  };
  expect_costs(kConvBiasBn, cases);
}

// Writes operators one after another, each with a kernel that a full queue hides.
class Model {
 public:
  // An operator of 10 us whose kernel takes `us`; 0: none.
  Model& op(const std::string& name, double us, const std::string& args = "") {
    text_.op("aten::" + name, at_, 9, args);
    if (us > 0) {
      text_.launched(at_ + 1, device_at_, us, ++id_, 7, name);
      device_at_ += us;
    }
    at_ += 10;
    return *this;
  }
  Model& attention(const std::string& scores = "", const std::string& left = "") {
    return op("bmm", 100, left)
        .op("view", 0)
        .op("div", 30)
        .op("add", 40)
        .op("_softmax", 50)
        .op("copy_", 20)
        .op("bmm", 100, scores);
  }
  operator const TraceText&() const { return text_; }

 private:
  TraceText text_ = TraceText().launched(0, 1, 9'999, 9999, 7, "busy");
  double at_ = 0, device_at_ = 10'000;
  int id_ = 0;
};

TraceText attention_each_100_us() {
  TraceText text;
  int id = 0;
  for (const auto* name : {"aten::bmm", "aten::div", "aten::_softmax", "aten::bmm"}) {
    const double at = id * 100;
    text.op(name, at, 99).launched(at + 1, at + 10, 60, ++id);
  }
  return text;
}

TEST(UnfusedAttention, Costs) {
  const std::string left = R"("Input Dims": [[8, 128, 64], [8, 64, 128]])";
  const Cost cases[] = {
      {"what another stream hides",
       TraceText(Model().attention()).launched(80, 10'000, 500, 99, 8), 0},
      {"the host is the limit", attention_each_100_us(), 0},
      {"the backward pass",
       Model()
           .op("bmm", 100)
           .op("bmm", 100)
           .op("_softmax_backward_data", 170)
           .op("div", 30)
           .op("bmm", 100)
           .op("bmm", 100),
       200'000},
      {"each of many once", Model().attention().attention().attention(), 3 * 120'000},
      {"fused", Model().op("_scaled_dot_product_flash_attention", 500), 0},
      {"a softmax after a product", Model().op("bmm", 100).op("_softmax", 400), 0},
      {"and before one", Model().op("_softmax", 400).op("bmm", 100), 0},
      {"a router: the chosen experts' products follow, not the scores' own",
       Model().op("bmm", 100).op("_softmax", 400).op("topk", 30).op("bmm", 100), 0},
      {"plain layers: mm and addmm are no batched products",
       Model().op("addmm", 100).op("_softmax", 400).op("addmm", 100), 0},
      {"known sizes that fit",
       Model().attention(R"("Input Dims": [[8, 128, 128], [8, 128, 64]])", left),
       120'000},
      {"that do not",
       Model().attention(R"("Input Dims": [[8, 64, 32], [8, 32, 64]])", left), 0},
      // The span is 10 ms of launching and what the kernels take.
      {"a hundredth of 12.0 ms", Model().attention().op("mm", 1660), 120'000},
      {"less", Model().attention().op("mm", 1661), 0},
  };
  expect_costs(kUnfusedAttention, cases);
  // Scale, mask and softmax; the copy is not known.
  const auto f = find_in(Model().attention()).findings.at(0);
  EXPECT_EQ(figures(f), "unfused_attention x1: 120 us, 0 idle");
  EXPECT_EQ(f.operator_name, "aten::_softmax");
}

TEST(UnfusedAttention, OnTheCpuHalfOfTheTimeBetweenTheProducts) {
  const auto f = first(TraceText()
                           .op("aten::bmm", 0, 300)
                           .op("aten::div", 310, 100)
                           .op("aten::softmax", 420, 220)
                           .op("aten::_softmax", 430, 200)
                           .op("aten::dropout", 650, 1)
                           .op("aten::bmm", 660, 300),
                       kUnfusedAttention);
  EXPECT_EQ(f.wasted_ns, 150'000);
  EXPECT_EQ(f.claims.at(0).device, -1);
}

TEST(UnfusedAttention, SaysWhereTorchItselfFellBack) {
  const auto found = find_in(TraceText()
                                 .op("aten::scaled_dot_product_attention", 0, 1000)
                                 .op("aten::_scaled_dot_product_attention_math", 1, 998)
                                 .op("aten::bmm", 10, 100)
                                 .op("aten::_softmax", 120, 400)
                                 .op("aten::bmm", 530, 100));
  ASSERT_EQ(found.findings.size(), 1u);
  EXPECT_TRUE(says(found.findings[0].message, "fell back"));
}

}  // namespace
}  // namespace tta::patterns

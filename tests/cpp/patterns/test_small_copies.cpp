// SPDX-License-Identifier: BSD-3-Clause
// Rules of tensors filled on the CPU and of many small copies, on hand-worked traces.
#include "patterns/found.h"

namespace tta::patterns {
namespace {

constexpr auto kUp = "Memcpy HtoD (Pageable -> Device)";

std::string inputs(const std::string& sizes, const std::string& type = "float") {
  return "\"Input Dims\": [[" + sizes + "], []], \"Input type\": [\"" + type +
         "\", \"Scalar\"]";
}

struct Fill {
  std::string between = "", fill_args = inputs("256"), copy_args = "", way = kUp;
  double until = 170;
};

// A tensor of 1024 bytes filled in 0-100 us and copied in 110-170; the device copies in
// 140-155.
TraceText filled(const Fill& f = {}) {
  TraceText text;
  text.op("aten::zeros", 0, 100)
      .op("aten::empty", 1, 5)
      .op("aten::zero_", 10, 85)
      .op("aten::fill_", 12, 80, f.fill_args);
  if (!f.between.empty()) text.op(f.between, 101, 7);
  return text.op("aten::to", 110, f.until - 110, f.copy_args)
      .op("aten::_to_copy", 112, f.until - 114)
      .op("aten::copy_", 115, f.until - 120)
      .call("cudaMemcpyAsync", 130, 30, 1)
      .copy(f.way, 140, 15, 1, 1024)
      .launched(f.until + 10, f.until + 20, 1000, 2);
}
TraceText sized(const std::string& fill, const std::string& copy = "") {
  return filled({.fill_args = fill, .copy_args = copy});
}

// Four fills, and one copy more than was filled.
TraceText fills_and_copies() {
  TraceText text;
  for (int i = 0; i < 4; ++i) text.op("aten::normal_", i * 50, 50, inputs("256"));
  for (int i = 0; i < 5; ++i) {
    text.op("aten::to", 200 + i * 50, 50)
        .op("aten::copy_", 201 + i * 50, 48)
        .call("cudaMemcpyAsync", 210 + i * 50, 30, 10 + i)
        .copy(kUp, 220 + i * 50, 10, 10 + i, 1024);
  }
  return text.launched(450, 460, 1000, 2);
}

TEST(CpuInitThenCopy, Costs) {
  const auto k256 = inputs("256");
  const Cost cases[] = {
      {"a device that computes meanwhile", filled().kernel(0, 180, 9, "gemm", 9), 0},
      {"another operator may have made the tensor", filled({.between = "aten::mul"}),
       0},
      {"not this one", filled({.between = "aten::pin_memory"}), 160'000},
      {"whatever the bytes: the copy may convert",
       sized(inputs("2, 4"), inputs("4, 2")), 160'000},
      {"other sizes", sized(inputs("4"), inputs("5")), 0},
      {"other types", sized(k256, inputs("256", "long int")), 0},
      {"by its bytes where the copy says nothing", sized(inputs("128", "double")),
       160'000},
      {"fewer bytes", sized(inputs("128")), 0},
      {"no bytes", sized(inputs("256", "no type")), 0},
      // torch.zeros(1) for a sum that stays on the CPU looks the same.
      {"sizes unknown", sized(""), 0},
      {"of the fill", sized("", k256), 0},
      {"its type", sized(R"("Input Dims": [[256], []])", k256), 0},
      {"one element", sized(inputs("1")), 0},
      {"a fill on the device", filled().call("cudaMemsetAsync", 20, 5, 7), 0},
      {"copies to the host", filled({.way = "Memcpy DtoH (Device -> Pageable)"}), 0},
      {"110-140 and 155-1125 idle at 1000 us besides the copy's 15",
       filled({.until = 1125}), 100'000 + 30'000 + 970'000 + 15'000},
      {"at more only the fill and the copy", filled({.until = 1126}), 100'000 + 15'000},
  };
  expect_costs(kCpuInitThenCopy, cases);
  // 0-100, 110-140 and 155-170 idle; 140-155 copying.
  EXPECT_EQ(figures(find_in(filled()).findings.at(0)),
            "cpu_init_then_copy x1: 160 us, 145 idle");
  EXPECT_EQ(first(filled(), kCpuInitThenCopy).operator_name, "aten::to");
  const auto paired = first(fills_and_copies(), kCpuInitThenCopy);
  EXPECT_EQ(paired.count, 4u);
  EXPECT_EQ(paired.wasted_ns, 400'000);
}

TraceText copies(int n, int bytes) {
  TraceText text;
  for (int i = 0; i < n; ++i) {
    const double at = i * 40;
    text.op("aten::to", at, 35)
        .op("aten::copy_", at + 1, 33)
        .call("cudaMemcpyAsync", at + 5, 8, 100 + i)
        .copy(kUp, at + 10, 2, 100 + i, bytes);
  }
  return text.launched(n * 40, n * 40 + 10, 500, 1);
}
TraceText in_steps(int n) { return copies(n, 256).step(1, 0, 400).step(2, 400, 460); }

TraceText with_one_of(double length) {
  return copies(20, 256)
      .op("aten::to", 2000, length)
      .op("aten::copy_", 2001, length - 2)
      .call("cudaMemcpyAsync", 1995 + length, 2, 50)
      .copy(kUp, 1998 + length, 2, 50, 256)
      .launched(2000 + length, 2010 + length, 500, 2);
}

// MTIA's rows: copies name no call, kernels do.
TraceText& dma(TraceText& text, bool up, double at, int bytes) {
  return text.device_work("mtia_ccp_events", "dma_request", at, 10, 0,
                          std::string(", \"direction\": \"") +
                              (up ? "HOST_TO_DEVICE" : "DEVICE_TO_HOST") +
                              "\", \"size\": " + std::to_string(bytes),
                          1, 0);
}
TraceText& mtia_kernel(TraceText& text, double at) {
  return text
      .host("mtia_runtime", "runFunction - job_prep_and_submit_for_execution", at, 20,
            "\"correlation\": 1")
      .device_work("mtia_ccp_events", "fc-dtype_Float", at + 10, 500, 1, "", 1, 0);
}

// n operators of 800 us that copy on the host: both inputs come down, one goes up.
TraceText round_trips(int n, int up = 1 << 20) {
  TraceText text;
  for (int i = 0; i < n; ++i) {
    const double at = i * 1000;
    text.op("aten::copy_", at, 800).op("aten::_copy_from", at + 2, 796);
    dma(text, false, at + 200, 1 << 20);
    dma(text, false, at + 400, 1 << 20);
    dma(text, true, at + 600, up);
  }
  return mtia_kernel(text, n * 1000);
}

// Two of 14 copies run when no operator does: more than one in ten.
TraceText with_copies_beside() {
  auto text = round_trips(4);
  return dma(dma(text, true, 900, 480), true, 1900, 480);
}

TraceText uploads(const char* op) {
  TraceText text;
  for (int i = 0; i < 11; ++i) dma(text.op(op, i * 100, 80), true, i * 100 + 40, 480);
  return mtia_kernel(text, 1100);
}

TraceText programs() {
  TraceText text;
  for (int i = 0; i < 11; ++i) {
    text.op("aten::to", i * 100, 80)
        .host("mtia_runtime", "runFunction", i * 100 + 50, 20,
              "\"correlation\": " + std::to_string(i + 1));
    dma(text, true, i * 100 + 40, 480);
    text.device_work("mtia_ccp_events", "cast", i * 100 + 60, 10, i + 1, "", 1, 0);
  }
  return text;
}

TEST(FrequentMemcpy, Costs) {
  const Cost cases[] = {
      {"few", copies(10, 256), 0},
      {"many", copies(11, 256), kSome},
      {"large", copies(20, 64 << 10), 0},
      {"ranges around the copies",
       copies(20, 256).op("DistributedDataParallel.forward", 0, 790), 20 * 35'000},
      {"steps share the copies", in_steps(20), 0},
      {"and one more", in_steps(21), kSome},
      {"of unknown size", copies(20, -1), 0},
      {"beside kernels", copies(20, 256).kernel(0, 810, 9, "gemm", 9), 0},
      {"all of a long call but the 1 us from its end to the copy", with_one_of(1000),
       20 * 35'000 + 999'000},
      {"of a longer one the copy", with_one_of(1001), 20 * 35'000 + 2'000},
      {"few round trips", round_trips(3), 0},
      {"other data up than down", round_trips(4, 1 << 19), 0},
      {"two threads at work leave it in doubt",
       round_trips(4).op("aten::add", 0, 3900, "", 2), 0},
      {"copies beside the operators say nothing of them", with_copies_beside(), 0},
      {"by time too small copies are those of", uploads("aten::to"), 11 * 80'000},
      {"copy operators only", uploads("aten::add"), 0},
      {"a kernel's program is no copy of the user's", programs(), 0},
  };
  expect_costs(kFrequentMemcpy, cases);
  // 35 us a call of which the device copies 2; nothing else runs.
  EXPECT_EQ(figures(find_in(copies(20, 256)).findings.at(0)),
            "frequent_memcpy.small x20: 700 us, 660 idle");
  // What goes to the host and back is a round trip of any size: of aten::_copy_from 796
  // us each, 30 of them copies.
  EXPECT_EQ(figures(first(round_trips(4), kFrequentMemcpy)),
            "frequent_memcpy.round_trip x4: 3184 us, 3064 idle");
}

}  // namespace
}  // namespace tta::patterns

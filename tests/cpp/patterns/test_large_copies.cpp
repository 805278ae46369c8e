// SPDX-License-Identifier: BSD-3-Clause
// Rules of copies between host and device that take long, on hand-worked traces.
#include "patterns/found.h"

namespace tta::patterns {
namespace {

constexpr auto kPinned = "Memcpy HtoD (Pinned -> Device)";
constexpr auto kPageable = "Memcpy HtoD (Pageable -> Device)";
constexpr auto kBack = "Memcpy DtoH (Device -> Pinned)";
constexpr auto kInside = "Memcpy DtoD (Device -> Device)";
constexpr auto kPeer = "Memcpy PtoP (Device -> Device)";

// A kernel of 1 ms, and a copy of 20 MB on any stream.
TraceText more(TraceText text, const std::string& name, double at, double length,
               int correlation, int stream) {
  return text.device_work("gpu_memcpy", name, at, length, correlation,
                          ", \"bytes\": 20000000", stream, 0);
}
TraceText one(double length, const std::string& name = kPinned) {
  return more(TraceText().launched(0, 10, 1000, 1), name, 1010, length, 2, 7);
}

// A copy, and the first kernel of its device's process, or of another's.
TraceText before_kernel(double kernel, int pid) {
  return TraceText()
      .call("cudaMemcpyAsync", 0, 5, 1)
      .copy(kPinned, 10, 1000, 1, 20'000'000)
      .call("cudaLaunchKernel", 6, 3, 2, 1, pid)
      .kernel(kernel, 500, 2, "gemm", 9, 1)
      .launched(1000, 1010, 500, 3);
}

TEST(ExposedCopy, Costs) {
  const Cost cases[] = {
      {"hidden", one(1000).kernel(1010, 1000, 3, "gemm", 9), 0},
      {"nothing is gained where a collective would go on without the copy",
       one(1000).kernel(1010, 1000, 3, "ncclDevKernel_AllReduce", 9), 0},
      {"two at once are exposed once", more(one(1000), kBack, 1510, 1000, 4, 9),
       1'500'000},
      {"short ones", more(one(49.9), kPinned, 1200, 49.9, 3, 7), 0},
      {"long enough", more(one(50), kPinned, 1200, 50, 3, 7), 100'000},
      {"under three percent", one(100).kernel(1110, 2250, 3), 0},
      {"three percent", one(100).kernel(1110, 2200, 3), 100'000},
      {"after the first kernel of its process, on any device", before_kernel(10, 100),
       1'000'000},
      {"before it nothing could hide it", before_kernel(10.1, 100), 0},
      {"of another process", before_kernel(10, 200), 0},
      {"of none", TraceText().copy(kPinned, 10, 1000, 1, 20'000'000), 0},
      {"inside a device", one(1000, kInside), 0},
      {"between devices", one(1000, kPeer), 0},
  };
  expect_costs(kExposedCopy, cases);
  EXPECT_EQ(all_in(one(1000).kernel(1010, 400, 3, "gemm", 9)),
            "exposed_copy x1: 600 us, 0 idle");
  EXPECT_FALSE(says(first(one(1000), kExposedCopy).message, "pageable"));
  EXPECT_TRUE(says(first(one(1000, kPageable), kExposedCopy).message, "pageable"));
}

constexpr auto kA100 =
    R"("deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-40GB"}])";
constexpr auto kGraceHopper =
    R"("deviceProperties": [{"id": 0, "name": "NVIDIA GH200 480GB"}])";
constexpr auto kH100 = R"("deviceProperties": [{"id": 0, "name": "NVIDIA H100 PCIe"}])";

// One copy of 1000 us at 20 GB/s, and one of as long of `bytes`.
TraceText beside_a_fast_one(int bytes, const std::string& slow = kPinned) {
  return TraceText()
      .kernel(0, 1, 9)
      .copy(kPinned, 1, 999, 1, 19'980'000)
      .copy(slow, 1000, 1000, 2, bytes);
}

// Copies of 10 us each, one every 20 us, whose calls ended `ahead` before their starts.
TraceText small(int n, double ahead = 40) {
  TraceText text;
  text.header(kA100);
  for (int i = 0; i <= n; ++i) {
    text.call("cudaMemcpyAsync", 100 + i * 20 - ahead - 3, 3, 100 + i);
    if (i < n) text.copy(kPinned, 100 + i * 20, 10, 100 + i, 4096);
  }
  return text.kernel(100 + n * 20, 100, 100 + n);
}

TEST(SlowCopy, Costs) {
  const auto alone = [](TraceText text, const char* name) {
    return text.copy(name, 0, 1000, 1, 4'000'000);
  };
  const Cost cases[] = {
      {"half the rate is enough", beside_a_fast_one(10'000'000), 0},
      {"less is not", beside_a_fast_one(9'980'000), 501'000},
      {"the other way says nothing", beside_a_fast_one(4'000'000, kBack), 0},
      {"the one copy is the best of the trace",
       alone(TraceText().header(kA100), kPinned), 0},
      {"4 of 25 GB/s", alone(TraceText().header(kA100), kPageable), 840'000},
      {"of an unknown link", alone(TraceText(), kPageable), 0},
      {"of one that knows no pages", alone(TraceText().header(kGraceHopper), kPageable),
       0},
      {"that share the link",
       beside_a_fast_one(4'000'000).device_work("gpu_memcpy", kPinned, 1500, 300, 3,
                                                ", \"bytes\": 2000000", 9, 0),
       0},
      {"400 us are hidden; four fifths of the rest are lost",
       beside_a_fast_one(4'000'000).kernel(1000, 400, 5, "gemm", 9), 480'000},
      {"inside a device", beside_a_fast_one(4'000'000, kInside), 0},
      {"between devices", beside_a_fast_one(4'000'000, kPeer), 0},
      {"few small ones", small(10), 0},
      // Each call ends 4 us before the copy before ends, or after it.
      {"what brings the next work forward", small(30, 14), 30 * 4000},
      {"what does not", small(30, 9), 0},
      {"a wrong duration is no reference",
       TraceText()
           .copy(kPinned, 0, 0.001, 1, 2'000'000'000)
           .copy(kPinned, 1000, 1000, 2, 20'000'000),
       0},
  };
  expect_costs(kSlowCopy, cases);
  // The rest of both is what their link takes, with nothing beside it.
  EXPECT_EQ(all_in(beside_a_fast_one(4'000'000)),
            "exposed_copy x2: 1199 us, 0 idle\nslow_copy.large x1: 800 us, 0 idle");
  EXPECT_TRUE(says(first(beside_a_fast_one(4'000'000), kSlowCopy).message,
                   "4.0 GB/s where 20.0 GB/s were reached"));
  // 0.4096 of 25 GB/s, 11 times: small ones take latency.
  EXPECT_EQ(figures(find_in(small(11)).findings.at(0)),
            "slow_copy.small x11: 108.196 us, 0 idle");
}

struct Stalled {
  std::string name = kPageable;
  double copy = 150, next = 340;
  int bytes = 1 << 20;
  std::string call = "cudaMemcpyAsync", around = "aten::to";
};

// The device runs dry at 120 us, is copied to from `copy` to 290 us, and has its next
// kernel launched at `next`. The call takes 100 to 300 us.
TraceText stalled(const Stalled& s = {}) {
  return TraceText()
      .launched(0, 10, 110, 1)
      .op(s.around, 94, 212)
      .op("aten::copy_", 95, 210)
      .call(s.call, 100, 200, 2)
      .copy(s.name, s.copy, 290 - s.copy, 2, s.bytes)
      .launched(s.next, s.next + 10, 1000, 3);
}

// A copy that starts at `copy`, in a call from 0 to 3000 us; the device is dry from 10
// us on until then, and busy after it.
TraceText late(double copy, double length) {
  return TraceText()
      .launched(-100, -90, 100, 1)
      .op("aten::copy_", -5, 3010)
      .call("cudaMemcpyAsync", 0, 3000, 2)
      .copy(kPageable, copy, length, 2, 1'200'000)
      .launched(copy - 20, copy + length, 6000, 3, 9);
}

TraceText after_kernel(double kernel) {
  return TraceText()
      .op("aten::copy_", 0, 1000)
      .call("cudaMemcpyAsync", 10, 900, 2)
      .copy(kPageable, 500, 400, 2, 1 << 20)
      .kernel(kernel, 10, 1)
      .kernel(900, 1000, 3);
}

// The main thread is inside an operator and launches when that is done.
TraceText by_another_thread() {
  return TraceText()
      .launched(0, 10, 110, 1)
      .op("aten::mul", 10, 335)
      .op("aten::copy_", 95, 210, "", 2)
      .call("cudaMemcpyAsync", 100, 200, 2, 2)
      .copy(kPageable, 200, 90, 2, 1 << 20)
      .launched(346, 350, 1000, 3);
}

// A copy at 25 GB/s: 7 MB in 280 us, with the device busy right before and after it.
TraceText slower(TraceText text) {
  return text.launched(0, 10, 140, 1)
      .op("aten::copy_", 95, 350)
      .call("cudaMemcpyAsync", 100, 340, 2)
      .copy(kPageable, 150, 280, 2, 7'000'000)
      .launched(80, 430, 1000, 3);
}

TEST(PageableCopy, Costs) {
  const Cost cases[] = {
      {"no more idle time than the call is long", stalled({.next = 900}), 200'000},
      {"before it starts, what staging a part can take", late(110, 200), 100'000},
      {"for longer", late(210, 200), 200'000},
      {"no longer than the copy itself", late(1210, 200), 200'000},
      {"that is long", late(1010, 1500), 1'000'000},
      {"nor than max_lag", late(1110, 1500), 1'000'000},
      {"before the device's first work", after_kernel(900), 0},
      {"after it", after_kernel(1), 400'000},
      // 120-200 and 290-300: what follows, the program's reading it would cost as well.
      {"of a copy to the host only the call counts",
       stalled({.name = "Memcpy DtoH (Device -> Pageable)", .copy = 200}), 90'000},
      {"pinned", stalled({.name = kPinned}), 0},
      {"of memory not known", stalled({.name = "Memcpy HtoD (Host -> Device)"}), 0},
      {"a blocking call", stalled({.call = "cudaMemcpy"}), 0},
      {"small", stalled({.bytes = (1 << 16) - 1}), 0},
      {"not small", stalled({.bytes = 1 << 16}), 85'000},
      {"of unknown size", stalled({.bytes = -1}), 0},
      {"part of another operator", stalled({.around = "aten::nonzero"}), 0},
      {"while the device computes", stalled().launched(5, 60, 300, 9, 8), 0},
      {"of a thread that holds no one up: before the copy, not after it",
       by_another_thread(), 80'000},
      {"nothing known to compare with", slower({}), 0},
  };
  expect_costs(kPageableCopy, cases);
  // 120-150 and 290-300 in the call, then until the launch call ends at 345.
  EXPECT_EQ(figures(first(stalled(), kPageableCopy)),
            "pageable_copy x1: 85 us, 85 idle");
  EXPECT_EQ(figures(find_in(slower(TraceText().header(kH100))).findings.at(0)),
            "pageable_copy x1: 140 us, 0 idle");  // 25 of 50 GB/s
}

}  // namespace
}  // namespace tta::patterns

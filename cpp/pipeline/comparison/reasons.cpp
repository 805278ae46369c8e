// SPDX-License-Identifier: BSD-3-Clause
// pipeline/comparison/reasons.cpp: a rule for each difference that makes work slower.
#include "pipeline/comparison/reasons.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string>

#include "timeline/event_args.h"

namespace tta::pipeline {
namespace {

constexpr std::size_t kNameLength = 60, kInputsLength = 60;
// A kernel or operator describes a row if it has over half of its time.
constexpr double kMain = 0.5;
// One kernel more among six explains little.
constexpr double kMoreKernels = 1.25;

bool exceeds(double slow, double fast) { return slow > fast * (1 + kSameShare); }

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, value < 1000 ? "%.3g" : "%.0f", value);
  return text;
}

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, share < 0.1 ? "%.1f" : "%.0f", share * 100);
  return text;
}

// A kernel's name without its arguments: "at::native::softmax_kernel". CUTLASS's is in
// the argument of a template: "cutlass::Kernel2<cutlass_80_gemm>(Params)".
std::string short_name(std::string_view kernel) {
  std::string name(kernel.starts_with("void ") ? kernel.substr(5) : kernel);
  constexpr std::string_view kUnnamed = "(anonymous namespace)::";
  for (auto at = name.find(kUnnamed); at != name.npos; at = name.find(kUnnamed)) {
    name.erase(at, kUnnamed.size());
  }
  const auto end = name.find_first_of("<(");
  const auto inner = end == name.npos ? name.npos : end + 1;
  const bool wraps = name.starts_with("cutlass") && inner < name.size();
  if (wraps && name[end] == '<') name.erase(0, inner);
  name.resize(std::min(name.size(), name.find_first_of("<(,>")));
  if (name.size() <= kNameLength) return name;
  auto cut = kNameLength;  // No character of UTF-8 is cut in two.
  while (cut > 0 && (static_cast<unsigned char>(name[cut]) & 0xC0) == 0x80) --cut;
  return name.substr(0, cut) + "...";
}

std::string type_name(std::string_view type) {
  if (type == "c10::Half") return "float16";
  if (type == "c10::BFloat16") return "bfloat16";
  if (type == "float") return "float32";
  if (type == "double") return "float64";
  if (type.starts_with("c10::Float8")) return "float8";
  return {};  // A narrower whole number is other data, not another precision.
}

bool is_main(const RowFigures& side) {
  return side.main != nullptr && side.main_ns >= kMain * side.work_ns;
}

bool is_known(const RowFigures& side, double known_ns) {
  return side.work_ns > 0 && known_ns >= kKnownShare * side.work_ns;
}

class Reasons {
 public:
  Reasons(const RowFigures& slow, const RowFigures& fast) : slow_(slow), fast_(fast) {}

  std::vector<Reason> all() {
    more_calls();
    more_work();
    other_precision();
    more_kernels();
    lower_efficiency();
    weaker_device();
    other_kernel();
    return std::move(out_);
  }

 private:
  void add(SlowerBy kind, std::string text) { out_.push_back({kind, std::move(text)}); }

  void more_calls() {
    if (!exceeds(slow_.calls, fast_.calls)) return;
    add(SlowerBy::kCalls,
        "more calls: " + number(slow_.calls) + " against " + number(fast_.calls));
  }

  void more_work() {
    if (!is_known(slow_, slow_.known_ns) || !is_known(fast_, fast_.known_ns)) return;
    const bool computes = slow_.flops > 0 && fast_.flops > 0;
    const auto of = [&](const RowFigures& side) {
      return (computes ? side.flops : side.bytes) / std::max(side.calls, 1e-9);
    };
    if (of(fast_) <= 0 || !exceeds(of(slow_), of(fast_))) return;
    auto text = "more work: " + number(of(slow_) / of(fast_)) + " times the " +
                (computes ? "flops" : "bytes");
    if (is_main(slow_) && is_main(fast_) && slow_.main->name == fast_.main->name &&
        slow_.main->inputs != fast_.main->inputs &&
        std::max(slow_.main->inputs.size(), fast_.main->inputs.size()) <=
            kInputsLength) {
      text += " (" + slow_.main->inputs + " against " + fast_.main->inputs + ")";
    }
    add(SlowerBy::kWork, std::move(text));
  }

  void other_precision() {
    if (!is_main(slow_) || !is_main(fast_)) return;
    const auto slow = type_name(slow_.main->data_type);
    const auto fast = type_name(fast_.main->data_type);
    if (slow.empty() || fast.empty()) return;
    if (timeline::element_bytes(slow_.main->data_type) <=
        timeline::element_bytes(fast_.main->data_type)) {
      return;
    }
    same_precision_ = false;
    add(SlowerBy::kPrecision, "other precision: " + slow + " against " + fast);
  }

  void more_kernels() {
    const auto of = [](const RowFigures& side) {
      return side.calls > 0 ? std::round(side.work / side.calls) : 0;
    };
    const auto slow = of(slow_), fast = of(fast_);
    if (fast < 1 || slow < kMoreKernels * fast) return;
    // A small kernel beside the one that takes the time explains nothing.
    const auto alike = std::min(1.0, fast * slow_.calls / slow_.kernels);
    if (slow_.kernel_ns * alike > kKnownShare * slow_.work_ns) return;
    const bool unfused = slow_.operators > fast_.operators;
    add(unfused ? SlowerBy::kFusion : SlowerBy::kKernels,
        (unfused ? "unfused: " : "more kernels a call: ") + number(slow) +
            (unfused ? " kernels instead of " : " instead of ") + number(fast));
  }

  void lower_efficiency() {
    if (!is_known(slow_, slow_.judged_ns) || !is_known(fast_, fast_.judged_ns)) return;
    const auto of = [](const RowFigures& side) {
      return side.roofline_us * 1000 / side.judged_ns;
    };
    if (!exceeds(of(fast_), of(slow_))) return;
    add(SlowerBy::kEfficiency, "lower efficiency: " + percent(of(slow_)) +
                                   " % against " + percent(of(fast_)) +
                                   " % of the roofline");
  }

  void weaker_device() {
    if (!same_precision_ || !is_main(slow_) || !is_main(fast_)) return;
    const auto& slow = *slow_.main;
    const auto& fast = *fast_.main;
    if (slow.bound != fast.bound || slow.bound.empty()) return;
    if (!slow.roofline_us || !fast.roofline_us) return;
    const bool memory = slow.bound == "memory";
    // The roofline is work over peak, so the peak is work over the roofline.
    const auto of = [&](const RooflineRow& row) {
      return (memory ? row.bytes : row.flops) * static_cast<double>(row.count) * 1e-6 /
             *row.roofline_us;
    };
    if (!(of(slow) > 0) || !exceeds(of(fast), of(slow))) return;
    add(memory ? SlowerBy::kBandwidth : SlowerBy::kPeak,
        (memory ? "memory-bound, and the bandwidth of its device is "
                : "compute-bound, and the peak of its device is ") +
            number(of(slow)) + " against " + number(of(fast)) +
            (memory ? " TB/s" : " TFLOP/s"));
  }

  void other_kernel() {
    if (!slow_.is_kernel || !fast_.is_kernel || slow_.kernel == fast_.kernel ||
        slow_.kernel_ns < kMain * slow_.work_ns ||
        fast_.kernel_ns < kMain * fast_.work_ns) {
      return;
    }
    const auto slow = short_name(slow_.kernel), fast = short_name(fast_.kernel);
    if (slow == fast) {
      add(SlowerBy::kKernel, "other instance of the kernel " + slow);
    } else {
      add(SlowerBy::kKernel, "other kernel: " + slow + " instead of " + fast);
    }
  }

  const RowFigures& slow_;
  const RowFigures& fast_;
  bool same_precision_ = true;
  std::vector<Reason> out_;
};

}  // namespace

std::vector<Reason> reasons_of(const RowFigures& slow, const RowFigures& fast) {
  return Reasons(slow, fast).all();
}

}  // namespace tta::pipeline

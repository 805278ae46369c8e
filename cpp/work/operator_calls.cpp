// SPDX-License-Identifier: BSD-3-Clause
// work/operator_calls.cpp: kernels to operators, operators to groups, groups against
// the peaks.
#include "work/operator_calls.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "timeline/captured.h"
#include "timeline/intervals.h"

namespace tta::work {
namespace {

using timeline::EventArgs;
using timeline::Interval;
using timeline::kNoRow;
using timeline::Timeline;
using trace::Category;

// Copies to and from the host use another link than the device's memory.
bool leaves_device(const Timeline& t, std::uint32_t row) {
  return t.columns().cat(row) == Category::kGpuMemcpy &&
         !t.named(row, timeline::Name::kInDevice);
}

std::uint32_t caller_of(const Timeline& t, std::uint32_t op) {
  const auto parent = t.tree.parent[op];
  return parent == kNoRow ? kNoRow
                          : t.tree.enclosing(t.columns(), parent, Category::kCpuOp);
}

// The work of operators, by their inputs: each distinct one is worked out once.
class KnownWork {
 public:
  KnownWork(const Timeline& t, const EventArgs& args) : t_(t), args_(args) {}

  const OperatorWork* of(std::uint32_t op) {
    const auto name = t_.columns().name[op];
    const auto* inputs = args_.op(op);
    if (inputs == nullptr) return nullptr;
    // Gradients of old torch follow from the inputs of their caller.
    const auto* around = t_.trace->name(op).starts_with("aten::cudnn_convolution_back")
                             ? args_of_caller(op)
                             : nullptr;
    const auto [it, fresh] = known_.try_emplace({name, inputs, around});
    if (fresh) it->second = work_of(t_.trace->name(op), *inputs, around);
    return it->second ? &*it->second : nullptr;
  }

 private:
  const timeline::OpArgs* args_of_caller(std::uint32_t op) const {
    const auto caller = caller_of(t_, op);
    return caller == kNoRow ? nullptr : args_.op(caller);
  }

  using Key =
      std::tuple<std::uint32_t, const timeline::OpArgs*, const timeline::OpArgs*>;
  const Timeline& t_;
  const EventArgs& args_;
  std::map<Key, std::optional<OperatorWork>> known_;
};

// The operator of each row of device work; kNoRow if none is known.
std::vector<std::uint32_t> operators_of_work(const Timeline& t, KnownWork& known) {
  const auto& c = t.columns();
  std::vector<std::uint32_t> out(c.size(), kNoRow);
  std::vector<char> owns(c.size(), 0);  // Has kernels of operators that are not known.
  t.each_launched([&](auto row, auto launch) {
    if (leaves_device(t, row) || t.is_communication(row)) return;
    const auto innermost = t.tree.enclosing(c, launch, Category::kCpuOp);
    auto op = innermost;
    while (op != kNoRow && known.of(op) == nullptr) op = caller_of(t, op);
    out[row] = op;
    if (op != innermost && op != kNoRow) owns[op] = 1;
  });
  t.each_launched([&](auto row, auto) {
    if (out[row] == kNoRow) return;
    out[row] = t.tree.outermost(
        out[row], [&, own = out[row]](auto at) { return at == own || owns[at]; });
  });
  return out;
}

// The same of the nodes of graphs, by the operators of their captures.
class CapturedWork {
 public:
  explicit CapturedWork(std::size_t rows) : rows_(rows) {}

  struct Owner {
    std::uint32_t call = kNoRow;
    std::string_view name;
    const timeline::OpArgs* inputs = nullptr;
    const OperatorWork* work = nullptr;
  };
  /// Without a call if no operator of the node is known.
  Owner of(const timeline::CapturedNode& node) {
    const auto& capture = *node.capture;
    auto& owners = owners_[&capture];
    if (owners.empty()) owners = owners_in(capture);
    const auto op = owners[node.launch];
    if (op == kNoRow || !node.sized) return {};
    const auto next = static_cast<std::uint32_t>(rows_ + calls_.size());
    const auto [it, fresh] = calls_.try_emplace({node.replay, op}, next);
    return {it->second, capture.texts[capture.ops[op].name],
            &capture.inputs[capture.ops[op].inputs], work(capture, op)};
  }

 private:
  // Of each launch.
  std::vector<std::uint32_t> owners_in(const timeline::Capture& capture) {
    std::vector<std::uint32_t> out;
    std::vector<char> owns(capture.ops.size(), 0);
    for (const auto& launch : capture.launches) {
      auto op = launch.op;
      while (op != kNoRow && work(capture, op) == nullptr) op = capture.ops[op].caller;
      if (op != launch.op && op != kNoRow) owns[op] = 1;
      out.push_back(op);
    }
    for (auto& op : out) {
      for (auto at = op; at != kNoRow; at = capture.ops[at].caller) {
        if (owns[at]) op = at;
      }
    }
    return out;
  }

  const OperatorWork* work(const timeline::Capture& capture, std::uint32_t op) {
    const auto& [name, inputs, caller] = capture.ops[op];
    if (inputs == kNoRow) return nullptr;
    const auto& text = capture.texts[name];
    const bool gradient = text.starts_with("aten::cudnn_convolution_back");
    const auto around =
        gradient && caller != kNoRow ? capture.ops[caller].inputs : kNoRow;
    const auto [it, fresh] = known_.try_emplace({&capture, name, inputs, around});
    if (fresh) {
      it->second = work_of(text, capture.inputs[inputs],
                           around == kNoRow ? nullptr : &capture.inputs[around]);
    }
    return it->second ? &*it->second : nullptr;
  }

  std::size_t rows_;
  std::map<const timeline::Capture*, std::vector<std::uint32_t>> owners_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> calls_;
  std::map<
      std::tuple<const timeline::Capture*, std::uint32_t, std::uint32_t, std::uint32_t>,
      std::optional<OperatorWork>>
      known_;
};

// Of the devices of one architecture, the slowest.
const timeline::Gpu* find_gpu(const Timeline& t, const timeline::DeviceTime& d) {
  const auto* properties = t.properties_of(d.device);
  if (properties != nullptr) return timeline::gpu_of(properties);
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kIsas = {
      {{"_ISA942_", "MI300A"}, {"_ISA90a_", "MI250"}, {"_ISA950_", "MI350X"}}};
  std::unordered_set<std::uint32_t> seen;
  for (const auto row : d.rows) {
    if (!seen.insert(t.columns().name[row]).second) continue;
    for (const auto& [isa, gpu] : kIsas) {
      if (t.trace->name(row).find(isa) != std::string_view::npos) {
        return timeline::gpu_of(gpu);
      }
    }
  }
  return nullptr;
}

// A kernel's own start and end, which no choice of kernel saves: 2 to 5 us.
constexpr double kStartNs = 3'000;
// Attention of shorter sequences is a matter of launches and of filling the device.
constexpr std::int64_t kLongSequence = 1024;

// What good kernels of a class reach of the data sheet's peak of arithmetic; 0:
// unknown.
//
// - NVIDIA: 75 % in products (A100: 77 to 92 % in the Megatron traces; H100: 660 to 750
//   of 989 TFLOP/s in cuBLAS), 70 % in attention with heads of 128 and 50 % of 64
//   (FlashAttention 2 on A100: 73 % and 61 %, 3 on H100: 75 % and 50 %), four fifths of
//   that backward (FlashAttention 2: 63 %), 60 % in convolutions.
// - AMD's CDNA 3 in half precision and less: half of it in products (TraceLens: 654 of
//   1307 TFLOP/s in practice), 40 % in attention (AMD's own kernels: 500 and more), 40
//   % in convolutions. Newer ones are not measured.
double reachable_of(const timeline::Gpu& gpu, const OperatorWork& work) {
  const auto narrow = work.data_type != "float" && work.data_type != "double";
  if (narrow && gpu.words.starts_with("MI35")) return 0;
  const bool cdna3 = narrow && gpu.words.starts_with("MI3");
  switch (work.work_class) {
    case WorkClass::kProduct:
      return cdna3 ? 0.5 : 0.75;
    case WorkClass::kAttention: {
      if (work.length < kLongSequence) return 0;
      const double forward = cdna3 ? 0.4 : work.head_size >= 128 ? 0.7 : 0.5;
      return work.backward ? 0.8 * forward : forward;
    }
    default:
      return cdna3 ? 0.4 : 0.6;
  }
}

// The same of the memory's peak: 85 % in one pass over contiguous data (BabelStream
// reaches 85 to 92 % on V100 to H100), 70 % where rows are reduced or fetched.
double reachable_memory(const OperatorWork& work) {
  return work.work_class == WorkClass::kElementwise ? 0.85 : 0.7;
}

void judge(const timeline::Gpu& gpu, std::string_view kernel, OperatorCalls& calls) {
  auto work = calls.work;
  // Attention in float32 has no fast kernels: it is held against half precision.
  if (in_needless_precision(gpu, work)) {
    work.data_type = "c10::Half";
    work.bytes /= 2;
  }
  const auto peak = peak_of(gpu, work, kernel);
  if (!work.exact || (work.flops > 0 && peak <= 0)) return;
  // TFLOP/s are 1000 FLOPs a nanosecond, GB/s bytes a nanosecond.
  const auto compute = work.flops > 0 ? work.flops / peak * 1e-3 : 0;
  const auto memory = work.bytes / gpu.bandwidth_gb_s;
  const auto count = static_cast<double>(calls.count);
  calls.roofline_ns = std::max(compute, memory) * count;
  const auto share = calls.roofline_ns / static_cast<double>(calls.device_ns);
  if (share <= kMostEfficient) calls.efficiency = share;
  const auto reachable = reachable_of(gpu, work);
  calls.compute_bound = compute > memory;
  if (reachable <= 0) return;
  const auto good_compute = compute / reachable;
  const auto good_memory = memory / reachable_memory(work);
  calls.compute_bound = good_compute > good_memory;
  calls.good_ns = (std::max(good_compute, good_memory) + kStartNs) * count;
}

// Strides of torch before 2.1 by the gradients, which have the output's size.
void settle_convolutions(std::vector<OperatorCalls>& all, const Timeline& t,
                         const EventArgs& args) {
  const auto inexact = [](const OperatorCalls& calls) {
    return !calls.work.exact && calls.work.work_class == WorkClass::kConvolution;
  };
  if (std::ranges::none_of(all, inexact)) return;
  using Sizes = std::vector<std::int64_t>;
  std::map<std::pair<Sizes, Sizes>, Sizes> outputs;
  std::unordered_set<const timeline::OpArgs*> seen;
  for (std::uint32_t row = 0; row < t.columns().size(); ++row) {
    const auto* inputs = args.op(row);
    if (inputs == nullptr || !seen.insert(inputs).second) continue;
    auto [in, weight, out] = convolved(t.trace->name(row), *inputs);
    if (out.empty()) continue;
    const auto [it, fresh] = outputs.try_emplace({in, weight}, out);
    if (!fresh && it->second != out) it->second.clear();  // Of several strides.
  }
  for (auto& calls : all) {
    if (!inexact(calls) || calls.inputs->dims.size() < 2) continue;
    const auto it = outputs.find({calls.inputs->dims[0], calls.inputs->dims[1]});
    if (it != outputs.end()) settle(calls.work, *calls.inputs, it->second);
  }
}

}  // namespace

bool rounds_to_tf32(std::string_view kernel) {
  return kernel.find("tf32") != kernel.npos || kernel.find("s1688") != kernel.npos ||
         kernel.find("xf32") != kernel.npos;
}

bool on_matrices(const OperatorWork& work) {
  return work.work_class == WorkClass::kProduct ||
         work.work_class == WorkClass::kConvolution ||
         work.work_class == WorkClass::kAttention;
}

const timeline::Gpu* OperatorTimes::gpu_of(std::int32_t device) const {
  const auto it = gpus_.find(device);
  return it == gpus_.end() ? nullptr : it->second;
}

bool in_needless_precision(const timeline::Gpu& gpu, const OperatorWork& work) {
  return work.work_class == WorkClass::kAttention && work.data_type == "float" &&
         gpu.peak.float16 > gpu.peak.float32;
}

double peak_of(const timeline::Gpu& gpu, const OperatorWork& work,
               std::string_view kernel) {
  const auto& peak = gpu.peak;
  const std::string_view type = work.data_type;
  if (type == "double") return peak.float64;
  if (!on_matrices(work)) return peak.float32;
  if (type == "float") return rounds_to_tf32(kernel) ? peak.tf32 : peak.float32;
  if (type == "c10::Half") return peak.float16;
  if (type == "c10::BFloat16") return peak.bfloat16;
  if (type.starts_with("c10::Float8")) return peak.float8;
  return type == "signed char" || type == "unsigned char" ? peak.int8 : 0;
}

OperatorTimes::OperatorTimes(const Timeline& t, const EventArgs& args)
    : of_row_(t.columns().size(), kNoRow) {
  const auto& c = t.columns();
  KnownWork known(t, args);
  CapturedWork captured(c.size());
  call_of_ = operators_of_work(t, known);
  const auto owner_of = [&](std::uint32_t row) -> CapturedWork::Owner {
    const auto op = call_of_[row];
    if (op != kNoRow) return {op, t.trace->name(op), args.op(op), known.of(op)};
    const auto* node = args.captured(row);
    if (node == nullptr || leaves_device(t, row) || t.is_communication(row)) return {};
    return captured.of(*node);
  };
  // Groups of calls, and the device work of each call.
  using Group = std::tuple<std::string_view, std::int32_t, const OperatorWork*>;
  std::map<Group, std::uint32_t> groups;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<Interval>> work;
  for (const auto& d : t.devices) {
    for (const auto row : d.rows) {
      const auto owner = owner_of(row);
      call_of_[row] = owner.call;
      if (owner.call == kNoRow || owner.work->bytes <= 0) continue;
      const auto [it, fresh] =
          groups.try_emplace({owner.name, d.device, owner.work},
                             static_cast<std::uint32_t>(calls_.size()));
      if (fresh) {
        calls_.push_back({.name = owner.name,
                          .in_graph = owner.call >= c.size(),
                          .device = d.device,
                          .inputs = owner.inputs,
                          .work = *owner.work});
      }
      auto& calls = calls_[it->second];
      of_row_[row] = it->second;
      work[{it->second, owner.call}].push_back({c.ts[row], c.end(row)});
      if (t.named(row, timeline::Name::kChangesFormat)) calls.format_ns += c.dur[row];
      if (calls.longest == kNoRow || c.dur[row] > c.dur[calls.longest]) {
        calls.longest = row;
      }
    }
  }
  for (const auto& [key, intervals] : work) {
    auto& calls = calls_[key.first];
    ++calls.count;
    calls.device_ns += timeline::total(timeline::unite(intervals));
  }
  settle_convolutions(calls_, t, args);
  for (const auto& d : t.devices) gpus_[d.device] = find_gpu(t, d);
  for (auto& calls : calls_) {
    const auto* gpu = gpu_of(calls.device);
    if (gpu != nullptr && calls.device_ns > 0) {
      judge(*gpu, t.trace->name(calls.longest), calls);
    }
    calls.why = slowness_of(t, args, calls, gpu);
  }
}

}  // namespace tta::work

// SPDX-License-Identifier: BSD-3-Clause
// pipeline/tables/roofline_table.cpp: operators by their inputs, and how near they come
// to what their device can do.
#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "pipeline/tables/tables.h"
#include "timeline/gpu_table.h"
#include "timeline/intervals.h"
#include "trace/args.h"
#include "work/operator_work.h"

namespace tta::pipeline {
namespace {

using timeline::Interval;
using timeline::kNoRow;

// Beyond this, the sizes, the type or the peak are wrong; below, clocks above the data
// sheet's and rounded times explain it.
constexpr double kMostEfficient = 1.05;

// One operator's own device work, on one device.
struct Call {
  std::int32_t device = 0;
  std::vector<Interval> work;
  std::uint32_t longest = kNoRow;  ///< Its row with the most time.
};

using Calls = std::map<std::uint32_t, Call>;  // By the operator's row.

// Copies to and from the host use another link than the device's memory.
bool leaves_device(const timeline::Timeline& t, std::uint32_t row) {
  return t.columns().cat(row) == trace::Category::kGpuMemcpy &&
         !t.named(row, timeline::Name::kInDevice);
}

Calls calls_of(const timeline::Timeline& t) {
  const auto& c = t.columns();
  Calls out;
  for (const auto& d : t.devices) {
    for (const auto row : d.rows) {
      const auto launch = t.launch_of(row);
      if (launch == kNoRow || leaves_device(t, row)) continue;
      const auto op = t.tree.enclosing(c, launch, trace::Category::kCpuOp);
      if (op == kNoRow) continue;
      auto& call = out[op];
      call.device = d.device;
      call.work.push_back({c.ts[row], c.end(row)});
      if (call.longest == kNoRow || c.dur[row] > c.dur[call.longest]) {
        call.longest = row;
      }
    }
  }
  return out;
}

// Float32 on tensor cores is TF32: its kernels say so.
bool rounds_to_tf32(std::string_view kernel) {
  return kernel.find("tf32") != kernel.npos || kernel.find("s1688") != kernel.npos ||
         kernel.find("xf32") != kernel.npos;
}

// FLOP/s * 1e-12 of a type; 0 if it is not in the table.
double peak_of(const timeline::Gpu& gpu, const work::OperatorWork& work,
               std::string_view kernel) {
  const auto& peak = gpu.peak;
  const std::string_view type = work.data_type;
  const bool on_matrices = work.work_class == work::WorkClass::kProduct ||
                           work.work_class == work::WorkClass::kConvolution ||
                           work.work_class == work::WorkClass::kAttention;
  if (type == "double") return peak.float64;
  if (!on_matrices) return peak.float32;
  if (type == "float") return rounds_to_tf32(kernel) ? peak.tf32 : peak.float32;
  if (type == "c10::Half") return peak.float16;
  if (type == "c10::BFloat16") return peak.bfloat16;
  if (type.starts_with("c10::Float8")) return peak.float8;
  return type == "signed char" || type == "unsigned char" ? peak.int8 : 0;
}

void judge(const timeline::Gpu& gpu, const work::OperatorWork& work, RooflineRow& row) {
  const auto peak = peak_of(gpu, work, row.kernel);
  if (work.flops > 0 && peak <= 0) return;
  const auto compute_us = work.flops > 0 ? work.flops / peak * 1e-6 : 0;
  const auto memory_us = work.bytes / gpu.bandwidth_gb_s * 1e-3;
  row.bound = compute_us > memory_us ? "compute" : "memory";
  row.roofline_us = std::max(compute_us, memory_us) * static_cast<double>(row.count);
  const auto share = *row.roofline_us * 1000 / static_cast<double>(row.device_ns);
  if (share <= kMostEfficient) row.efficiency = share;
}

std::string sizes_text(const timeline::OpArgs& sizes) {
  std::string out;
  for (const auto& input : sizes.dims) {
    if (input.empty()) continue;
    out += out.empty() ? "[" : " [";
    for (std::size_t i = 0; i < input.size(); ++i) {
      out += (i > 0 ? ", " : "") + std::to_string(input[i]);
    }
    out += ']';
  }
  return out;
}

// The members that decide what a call does, as they stand in the file.
std::string inputs_text(std::string_view args) {
  std::string out = "{";
  trace::for_each_member(args, [&](std::string_view key, std::string_view value) {
    if (!key.starts_with("Input ") && key != "Concrete Inputs") return;
    if (out.size() > 1) out += ',';
    out.append("\"").append(key).append("\":").append(value);
  });
  return out + "}";
}

}  // namespace

std::vector<RooflineRow> make_roofline_table(const timeline::Timeline& t) {
  const auto calls = calls_of(t);
  std::vector<std::uint32_t> rows;
  for (const auto& [row, call] : calls) rows.push_back(row);
  // Calls with the same name, inputs and device.
  std::map<std::tuple<std::uint32_t, std::int32_t, std::string>,
           std::vector<const Call*>>
      groups;
  t.trace->visit_args(rows, [&](std::size_t at, std::string_view args) {
    const auto& call = calls.at(rows[at]);
    groups[{t.columns().name[rows[at]], call.device, inputs_text(args)}].push_back(
        &call);
  });
  std::vector<RooflineRow> out;
  for (const auto& [key, alike] : groups) {
    const auto& [name, device, text] = key;
    const auto inputs = work::read_inputs(text);
    const auto work = work::work_of(t.trace->strings.view(name), inputs);
    if (!work || work->bytes <= 0) continue;
    RooflineRow row;
    row.name = t.trace->strings.view(name);
    row.kind =
        work::words_of(work->work_class)[static_cast<std::size_t>(work->work_class)];
    row.inputs = sizes_text(inputs.sizes);
    row.data_type = work->data_type;
    row.device = device;
    row.count = alike.size();
    row.flops = work->flops;
    row.bytes = work->bytes;
    std::int64_t longest = -1;
    for (const auto* call : alike) {
      row.device_ns += timeline::total(timeline::unite(call->work));
      if (t.columns().dur[call->longest] > longest) {
        longest = t.columns().dur[call->longest];
        row.kernel = t.trace->name(call->longest);
      }
    }
    if (row.device_ns <= 0) continue;
    const auto calls_of_ns =
        static_cast<double>(row.count) / static_cast<double>(row.device_ns);
    row.tflop_s = row.flops * calls_of_ns * 1e-3;
    row.gb_s = row.bytes * calls_of_ns;
    const auto* properties = t.properties_of(device);
    const auto* gpu =
        properties == nullptr ? nullptr : timeline::gpu_of(properties->name);
    if (gpu != nullptr) judge(*gpu, *work, row);
    out.push_back(std::move(row));
  }
  const auto lost_us = [](const RooflineRow& row) {
    return row.efficiency ? static_cast<double>(row.device_ns) / 1000 - *row.roofline_us
                          : -1;
  };
  std::ranges::stable_sort(out, [&](const auto& a, const auto& b) {
    return std::pair(lost_us(a), a.device_ns) > std::pair(lost_us(b), b.device_ns);
  });
  return out;
}

}  // namespace tta::pipeline

// SPDX-License-Identifier: BSD-3-Clause
// pipeline/tables/roofline_table.cpp: operators by their inputs, and how near they come
// to what their device can do.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "pipeline/tables/tables.h"
#include "timeline/gpu_table.h"
#include "work/operator_calls.h"

namespace tta::pipeline {
namespace {

using record::word_of;

}  // namespace

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

RooflineRow make_roofline_row(const timeline::Timeline& t,
                              const work::OperatorTimes& operators,
                              const work::OperatorCalls& calls) {
  RooflineRow row;
  row.name = calls.name;
  row.in_graph = calls.in_graph;
  row.kind = word_of(calls.work.work_class);
  row.inputs = sizes_text(*calls.inputs);
  row.data_type = calls.work.data_type;
  row.kernel = t.trace->name(calls.longest);
  row.device = calls.device;
  row.count = calls.count;
  row.device_ns = calls.device_ns;
  if (calls.work.exact && calls.device_ns > 0) {
    const auto each =
        static_cast<double>(calls.count) / static_cast<double>(calls.device_ns);
    row.flops = calls.work.flops;
    row.bytes = calls.work.bytes;
    row.tflop_s = calls.work.flops * each * 1e-3;
    row.gb_s = calls.work.bytes * each;
  }
  row.intensity = row.bytes > 0 ? row.flops / row.bytes : 0;
  row.slow = calls.slow();
  const auto* gpu = operators.gpu_of(calls.device);
  const auto peak = gpu == nullptr ? 0 : work::peak_of(*gpu, calls.work, row.kernel);
  if (gpu != nullptr) row.peak_gb_s = gpu->bandwidth_gb_s;
  if (peak > 0 && row.flops > 0) row.peak_tflop_s = peak;
  if (calls.roofline_ns > 0) {
    row.roofline_us = calls.roofline_ns / 1000;
    row.bound = calls.compute_bound ? "compute" : "memory";
  }
  if (calls.efficiency > 0) {
    row.efficiency = calls.efficiency;
    row.reachable = calls.reachable();
    row.lost_us = calls.lost_ns() / 1000;
  }
  row.reason = word_of(calls.why.reason);
  row.evidence = calls.why.evidence;
  return row;
}

std::vector<RooflineRow> make_roofline_table(const timeline::Timeline& t,
                                             const work::OperatorTimes& operators) {
  std::vector<RooflineRow> out;
  for (const auto& calls : operators.all()) {
    if (calls.device_ns > 0) out.push_back(make_roofline_row(t, operators, calls));
  }
  std::ranges::stable_sort(out, [](const auto& a, const auto& b) {
    return std::pair(a.lost_us.value_or(-1), a.device_ns) >
           std::pair(b.lost_us.value_or(-1), b.device_ns);
  });
  return out;
}

}  // namespace tta::pipeline

// SPDX-License-Identifier: BSD-3-Clause
// pipeline/tables/utilization.cpp: how much of its peaks a device reached, as a whole
// and by step.
#include <algorithm>
#include <unordered_map>
#include <vector>

#include "pipeline/tables/tables.h"
#include "timeline/gpu_table.h"
#include "work/operator_calls.h"

namespace tta::pipeline {
namespace {

using timeline::Interval;

// What a row of device work adds to a nanosecond of its time.
struct Rate {
  double flops = 0, bytes = 0;
  double matrix_peak = 0;  // Seconds at the peak, of matrix work, times 1e9.
  bool known = false, tensor_cores = false;
};

// Sums of one stretch of a device's time.
struct Sums {
  Interval time;
  std::int64_t reached = 0;  // Until when work counted as busy.
  std::int64_t busy = 0;
  double known = 0, tensor_cores = 0, flops = 0, bytes = 0, matrix_peak = 0;

  explicit Sums(Interval of) : time(of), reached(of.begin) {}
  void add(Interval work, const Rate& rate) {
    const Interval inside{std::max(work.begin, time.begin),
                          std::min(work.end, time.end)};
    if (inside.begin >= inside.end) return;
    const auto length = static_cast<double>(inside.length());
    const Interval fresh{std::max(inside.begin, reached), inside.end};
    if (fresh.begin < fresh.end) {
      const auto ns = static_cast<double>(fresh.length());
      busy += fresh.length();
      if (rate.known) known += ns;
      if (rate.tensor_cores) tensor_cores += ns;
      reached = fresh.end;
    }
    flops += length * rate.flops;
    bytes += length * rate.bytes;
    matrix_peak += length * rate.matrix_peak;
  }
};

constexpr double kLeastKnown = 0.5;

bool is_narrow(std::string_view type) {
  return type == "c10::Half" || type == "c10::BFloat16" ||
         type.starts_with("c10::Float8");
}

// Of every row of device work. The work of a call spreads over its rows by time.
std::vector<Rate> rates_of(const timeline::Timeline& t,
                           const work::OperatorTimes& operators) {
  const auto& c = t.columns();
  std::vector<Rate> out(c.size());
  std::unordered_map<std::uint32_t, double> total;  // By the operator's row.
  for (const auto& d : t.devices) {
    for (const auto row : d.rows) {
      if (operators.of(row) == nullptr) continue;
      total[operators.call_of(row)] += static_cast<double>(c.dur[row]);
    }
  }
  for (const auto& d : t.devices) {
    const auto* gpu = operators.gpu_of(d.device);
    for (const auto row : d.rows) {
      auto& rate = out[row];
      rate.tensor_cores = t.named(row, timeline::Name::kTensorCores);
      const auto* calls = operators.of(row);
      if (calls == nullptr || !calls->work.exact) continue;
      // Beyond the peak: the sizes, the type or the peak are not those of the run.
      if (calls->roofline_ns > 0 && calls->efficiency <= 0) continue;
      const auto& work = calls->work;
      const auto time = total.at(operators.call_of(row));
      if (time <= 0) continue;
      const bool matrix = on_matrices(work);
      rate.known = true;
      rate.tensor_cores |= matrix && is_narrow(work.data_type) &&
                           !t.named(row, timeline::Name::kOrdinaryUnits);
      rate.flops = work.flops / time;
      rate.bytes = work.bytes / time;
      const auto peak =
          gpu == nullptr ? 0 : work::peak_of(*gpu, work, t.trace->name(calls->longest));
      // TFLOP/s are 1000 FLOPs a nanosecond.
      if (matrix && peak > 0) rate.matrix_peak = rate.flops / peak * 1e-3;
    }
  }
  return out;
}

Utilization row_of(const Sums& sums, const timeline::Gpu* gpu) {
  Utilization out;
  const auto span = static_cast<double>(sums.time.length());
  const auto busy = static_cast<double>(sums.busy);
  out.span_ns = sums.time.length();
  out.busy_ns = sums.busy;
  out.known_share = busy > 0 ? sums.known / busy : 0;
  out.tensor_core_share = busy > 0 ? sums.tensor_cores / busy : 0;
  if (span <= 0 || sums.known <= 0) return out;
  out.tflop_s = sums.flops / span * 1e-3;
  out.gb_s = sums.bytes / span;
  // Of a small part of the work they would be read as those of all.
  if (gpu != nullptr && out.known_share >= kLeastKnown) {
    out.mfu = sums.matrix_peak / span;
    out.bandwidth_share = sums.bytes / span / gpu->bandwidth_gb_s;
  }
  return out;
}

}  // namespace

std::vector<Utilization> list_utilization(const Report& report,
                                          const work::OperatorTimes& operators) {
  const auto& t = *report.timeline;
  const auto& c = t.columns();
  const auto rates = rates_of(t, operators);
  std::vector<Utilization> out;
  for (const auto& d : t.devices) {
    Sums whole(t.span);
    std::vector<Sums> steps;
    std::vector<std::int64_t> numbers;
    for (const auto& step : report.steps) {
      if (step.pid != d.pid) continue;
      steps.emplace_back(Interval{step.begin_ns, step.end_ns});
      numbers.push_back(step.number);
    }
    for (const auto row : d.rows) {
      const Interval work{c.ts[row], c.end(row)};
      whole.add(work, rates[row]);
      auto step = std::ranges::upper_bound(steps, work.begin, {},
                                           [](const Sums& s) { return s.time.end; });
      for (; step != steps.end() && step->time.begin < work.end; ++step) {
        step->add(work, rates[row]);
      }
    }
    const auto* gpu = operators.gpu_of(d.device);
    const auto add = [&](const Sums& sums, std::optional<std::int64_t> step) {
      auto row = row_of(sums, gpu);
      row.device = d.number;
      row.pid = process_of(*t.trace, d.pid);
      row.step = step;
      out.push_back(std::move(row));
    };
    add(whole, {});
    for (std::size_t i = 0; i < steps.size(); ++i) add(steps[i], numbers[i]);
  }
  return out;
}

}  // namespace tta::pipeline

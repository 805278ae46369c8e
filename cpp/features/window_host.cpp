// SPDX-License-Identifier: BSD-3-Clause
// features/window_host.cpp: what the threads of a window's process did.
#include <algorithm>
#include <array>
#include <unordered_set>

#include "features/window_stats.h"

namespace tta::features {
namespace {

double ratio_of(double part, double whole) { return whole > 0 ? part / whole : 0; }

}  // namespace

void read_host(const Whole& w, const WindowFacts& f, WindowStats& out) {
  const auto& c = w.t.columns();
  const auto time = f.time();
  const auto length = static_cast<double>(time.length());
  const auto& parts = w.hosts.of(f.window.pid);
  std::array<double, kIns> in{};
  double all = 0;
  for (std::size_t i = 0; i < kIns; ++i) {
    in[i] = static_cast<double>(parts.in[i].in(time));
    if (is_recorded(static_cast<In>(i))) all += in[i];
  }
  const auto of = [&](In what) { return in[static_cast<std::size_t>(what)]; };
  out.threads_active =
      static_cast<float>(std::log2(1 + ratio_of(all - of(In::kWait), length)));
  const auto window_part = [&](const timeline::SumUntil& sum) {
    return share(static_cast<double>(sum.in(time)), length);
  };
  out.operators_busy = window_part(parts.operators);
  out.in_operators = share(of(In::kOperator), all);
  out.in_launches = share(of(In::kLaunch), all);
  out.in_calls = share(of(In::kCall), all);
  out.in_memory = share(of(In::kMemory), all);
  out.in_waits = share(of(In::kWait), all);
  out.in_loader = share(of(In::kLoader), all);
  out.in_collectives = share(of(In::kCollective), all);
  out.in_python = 1 - window_part(parts.recorded);
  out.in_compile = window_part(parts.compiling);
  out.in_gc = window_part(parts.collecting);
  out.in_optimizer = window_part(parts.optimizer);
  out.waiting = window_part(parts.waiting);

  double host = 0, waits = 0;
  std::vector<float> launch_lengths;
  std::int64_t longest = -1;
  for (const auto row : f.rows) {
    if (w.t.lanes.on_stream(row)) continue;
    ++host;
    const auto kind = w.kinds[row];
    if (!is_call(kind)) continue;
    if (w.hosts.waits(row)) {
      ++waits;
      longest = std::max(longest, c.dur[row]);
    }
    if (kind != Kind::kLaunch && kind != Kind::kGraphLaunch) continue;
    launch_lengths.push_back(w.usual.costs(c.dur[row]));
  }
  if (longest >= 0) out.wait_longest = w.usual.costs(longest);
  out.waits = share(waits, host);
  out.launch_p90 = percentile(launch_lengths, 90);
}

void read_operators(const Whole& w, const WindowFacts& f, WindowStats& out) {
  const auto& c = w.t.columns();
  const auto time = f.time();
  std::array<double, kKinds> count{};
  std::unordered_set<std::uint32_t> names;
  std::vector<float> ratios, gaps;
  double host = 0, operators = 0, depth = 0;
  for (const auto row : f.rows) {
    if (w.t.lanes.on_stream(row)) continue;
    ++host;
    depth += w.nesting.depth[row];
    const auto kind = w.kinds[row];
    ++count[static_cast<std::size_t>(kind)];
    if (!is_operator(kind)) continue;
    ++operators;
    names.insert(c.name[row]);
    ratios.push_back(w.usual.ratio(w.t, row));
    gaps.push_back(w.usual.costs(w.nesting.gap[row]));
  }
  const auto of = [&](Kind kind) { return count[static_cast<std::size_t>(kind)]; };
  out.operators = share(operators, host);
  out.views = share(of(Kind::kView) + of(Kind::kReserve), operators);
  out.elementwise = share(of(Kind::kElementwise), operators);
  out.matrix = share(of(Kind::kMatrix), operators);
  out.reductions = share(of(Kind::kReduce), operators);
  out.indexing = share(of(Kind::kIndex), operators);
  out.op_copies = share(of(Kind::kCopy), operators);
  out.fills = share(of(Kind::kFill), operators);
  out.reads = share(of(Kind::kRead), operators);
  out.optimizer = share(of(Kind::kOptimizer), operators);
  out.collectives = share(of(Kind::kCollective), operators);
  out.backward = share(of(Kind::kBackward), operators);
  out.compiled = share(of(Kind::kCompiled), operators);
  out.quantized = share(of(Kind::kQuantize), operators);

  const auto& parts = w.hosts.of(f.window.pid);
  const auto in_operators =
      static_cast<double>(parts.in[static_cast<std::size_t>(In::kOperator)].in(time));
  const auto own = [&](const timeline::SumUntil& sum) {
    return share(static_cast<double>(sum.in(time)), in_operators);
  };
  out.matrix_time = own(parts.matrix);
  out.elementwise_time = own(parts.elementwise);
  out.op_copy_time = own(parts.copies);
  out.op_ratio_median = percentile(ratios, 50);
  out.op_ratio_p90 = percentile(ratios, 90);
  out.op_gap_median = percentile(gaps, 50);
  if (host > 0) out.depth_mean = static_cast<float>(std::log2(1 + depth / host));
  out.op_names = share(static_cast<double>(names.size()), operators);
}

}  // namespace tta::features

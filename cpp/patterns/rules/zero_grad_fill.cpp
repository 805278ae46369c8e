// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/zero_grad_fill.cpp: gradients filled with zeros.
//
// zero_grad(set_to_none=False) fills each gradient, one launch and one pass over its
// memory each; dropping them costs nothing, and the next backward pass then stores
// instead of adding. That second gain is not claimed. Claimed are: idle time of the
// device while the host went from fill to fill, and the time of the fills themselves
// where the host was ahead. Without device work, it is the time of the calls.
#include <algorithm>
#include <array>
#include <iterator>
#include <map>

#include "patterns/device_work.h"
#include "patterns/marks.h"
#include "patterns/rule.h"

namespace tta::patterns {
namespace zero_grad_fill {
namespace {

enum : std::size_t { kMinShare, kMaxPause };
constexpr std::array kThresholds = {
    Threshold{"min_share", 0.01, "share", "1 % of the time is worth reporting"},
    Threshold{"max_pause", 200, "us",
              "Python between two fills takes less; longer is other work"},
};

using trace::Category;

// Where there is no gradient, the first one is kept as it is: of a gradient that was
// filled, the backward pass adds to the zeros, once each after a fill.
void note_accumulation(const Context& context, const std::vector<Mark>& fills,
                       std::vector<Mark>& sites) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  if (t.host || fills.empty()) return;
  const auto& launched = launched_work(context);
  std::map<std::int64_t, std::vector<Mark>> filled;  // of each process
  for (const auto& fill : fills) filled[c.pid[fill.row]].push_back(fill);
  std::map<std::int64_t, std::vector<std::uint32_t>> added;  // to gradients
  for (const auto& lane : t.lanes.threads()) {
    if (!filled.contains(lane.pid)) continue;
    for (const auto row : t.lanes.rows_of(lane)) {
      const auto node = t.tree.parent[row];
      if (c.cat(row) == Category::kCpuOp && t.trace->name(row) == "aten::add_" &&
          node != kNoRow && t.trace->name(node) == "torch::autograd::AccumulateGrad") {
        added[lane.pid].push_back(row);
      }
    }
  }
  for (auto& [pid, own] : filled) {
    std::stable_sort(own.begin(), own.end(), [](const Mark& a, const Mark& b) {
      return a.time.begin < b.time.begin;
    });
    auto& adds = added[pid];
    std::sort(adds.begin(), adds.end(), [&](auto a, auto b) {
      return std::pair(c.ts[a], a) < std::pair(c.ts[b], b);
    });
    auto fill = own.begin();
    std::size_t left = 0;  // gradients that are zeros
    for (const auto row : adds) {
      for (; fill != own.end() && fill->time.begin < c.ts[row]; ++fill) ++left;
      if (left == 0) continue;
      --left;
      Mark add{{c.ts[row], c.end(row)}, row};
      add.named = std::prev(fill)->row;
      sites.push_back(add);
      for (const auto& work : launched.in(t.lanes.lane[row], add.time)) {
        add.time = {};
        add.work = work.row;
        sites.push_back(add);
      }
    }
  }
}

std::vector<Claim> propose(const Context& context) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  const auto& launched = launched_work(context);
  std::vector<std::uint32_t> inside(c.size(), kNoRow);  // the outermost zero_grad
  std::vector<Mark> marks;
  std::vector<Excess> excess;
  for (const auto& lane : t.lanes.threads()) {
    auto range = kNoRow;  // of the last mark
    for (const auto row : t.lanes.rows_of(lane)) {
      const auto parent = t.tree.parent[row];
      if (parent != kNoRow) inside[row] = inside[parent];
      if (inside[row] == kNoRow && t.named(row, Name::kZeroGrad)) inside[row] = row;
      if (inside[row] == kNoRow || c.cat(row) != Category::kCpuOp) continue;
      const auto name = t.trace->name(row);
      if (name != "aten::zero_" && name != "aten::_foreach_zero_") continue;
      // A fill inside another operator makes a new tensor (zeros) or is seen already.
      if (parent != kNoRow && c.cat(parent) == Category::kCpuOp &&
          t.named(parent, Name::kAten)) {
        continue;
      }
      const Interval call{c.ts[row], c.end(row)};
      if (!t.host && range == inside[row] &&
          call.begin - marks.back().time.end <= context.limits.ns(kMaxPause)) {
        marks.back().time.end = std::max(marks.back().time.end, call.begin);
      }
      range = inside[row];
      marks.push_back({call, row, 0});
      for (const auto& work : launched.in(lane.id, call)) {
        excess.push_back({work.device, work.row, 1, row, 0});
      }
    }
  }
  auto sites = marks;
  for (const auto& fill : excess) sites.push_back({{}, fill.evidence, 0, fill.row});
  note_accumulation(context, marks, sites);
  auto claims = claim_marks(context, PatternId::kZeroGradFill, std::move(marks));
  note_sites(context, PatternId::kZeroGradFill, std::move(sites));
  const auto busy = claim_rows(context, PatternId::kZeroGradFill, std::move(excess));
  claims.insert(claims.end(), busy.begin(), busy.end());
  return claims;
}

std::string describe(const Context& context, const Finding& f) {
  const auto fills = count_text(f.count, "fill", "fills") + " of gradients with zeros";
  if (context.timeline.host) return fills + " took " + duration_text(f.wasted_ns) + ".";
  const auto filled = f.wasted_ns - f.idle_ns;
  return fills + ": " + devices_text(f, false) +
         (filled > 0 ? " filled for " + duration_text(filled) + " and" : "") +
         " idled " + duration_text(f.idle_ns) + " during the host's calls.";
}

}  // namespace
}  // namespace zero_grad_fill

const Rule kZeroGradFillRule{PatternId::kZeroGradFill, zero_grad_fill::kThresholds,
                             zero_grad_fill::propose, zero_grad_fill::describe};

}  // namespace tta::patterns

// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/cpu_cast.cpp: casts that delay the main thread of a program without a
// device.
//
// aten::copy_ inside aten::to or aten::_to_copy whose source and destination have
// different types. An upper bound: an operator that takes the other type may be slower,
// or convert inside (bfloat16 on a CPU without instructions for it).
#include <array>
#include <vector>

#include "patterns/marks.h"
#include "patterns/rule.h"

namespace tta::patterns {
namespace cpu_cast {
namespace {

enum : std::size_t { kMinShare, kMinBusy };
constexpr std::array kThresholds = {
    Threshold{"min_share", 0.01, "share", "1 % of the time is worth reporting"},
    Threshold{"min_busy", 0.05, "share",
              "of the time in operators: the min_busy of redundant_d2d"},
};

using trace::Category;

bool converts(const timeline::OpArgs* copy) {
  return copy != nullptr && copy->types.size() >= 2 &&
         timeline::element_bytes(copy->types[0]) >= 0 &&
         timeline::element_bytes(copy->types[1]) >= 0 &&
         copy->types[0] != copy->types[1];
}

// The outermost operator of a cast: aten::to around _to_copy around copy_.
std::uint32_t outermost(const timeline::Timeline& t, std::uint32_t row) {
  const auto& c = t.columns();
  auto outer = row;
  for (int level = 0; level < 2; ++level) {
    const auto at = t.tree.parent[outer];
    if (at == kNoRow || c.cat(at) != Category::kCpuOp) break;
    const auto name = t.trace->name(at);
    if (name != "aten::to" && name != "aten::_to_copy") break;
    outer = at;
  }
  return outer;
}

std::vector<Claim> propose(const Context& context) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  if (!t.host) return {};
  std::vector<Mark> marks;
  for (const auto& lane : t.lanes.threads()) {
    if (t.host.of(lane.pid) == nullptr) continue;
    for (const auto row : t.lanes.rows_of(lane)) {
      if (c.cat(row) != Category::kCpuOp || t.trace->name(row) != "aten::copy_" ||
          !converts(context.args.op(row))) {
        continue;
      }
      const auto outer = outermost(t, row);
      if (outer != row) marks.push_back({{c.ts[outer], c.end(outer)}, outer});
    }
  }
  auto claims = claim_marks(context, PatternId::kCpuCast, std::move(marks));
  // Of each process by itself.
  std::vector<std::int64_t> cost(t.host.size());
  for (const auto& claim : claims) {
    cost[index_of(t, claim)] += claim.end - claim.begin;
  }
  std::erase_if(claims, [&](const Claim& claim) {
    const auto i = index_of(t, claim);
    const auto busy = static_cast<double>(timeline::total(t.host[i].busy));
    return static_cast<double>(cost[i]) < context.limits[kMinBusy] * busy;
  });
  return claims;
}

std::string describe(const Context&, const Finding& f) {
  return count_text(f.count, "conversion", "conversions") +
         " of tensors to another dtype took " + duration_text(f.wasted_ns) +
         " of the main thread's time.";
}

}  // namespace
}  // namespace cpu_cast

const Rule kCpuCastRule{PatternId::kCpuCast, cpu_cast::kThresholds, cpu_cast::propose,
                        cpu_cast::describe};

}  // namespace tta::patterns

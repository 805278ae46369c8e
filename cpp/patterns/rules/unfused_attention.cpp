// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/unfused_attention.cpp: attention as product, softmax, product.
//
// Between its two batched products, unfused attention writes and reads the whole matrix
// of scores for each of scale, mask, softmax and dropout. A fused kernel never stores
// it. These kernels are claimed. The products also write and read the scores, about as
// much as one softmax does; that is not claimed, which outweighs the exponentials that
// a fused kernel has to compute as well. Products that are slow for their sizes are
// claimed for what good ones would save, as the fused kernel replaces them, too.
//
// On the CPU exponentials are a good part of a softmax, so only a share is claimed.
#include <algorithm>
#include <array>

#include "patterns/attention.h"
#include "patterns/device_work.h"
#include "patterns/marks.h"
#include "patterns/rule.h"

namespace tta::patterns {
namespace unfused_attention {
namespace {

enum : std::size_t { kMinShare, kCpuShare };
constexpr std::array kThresholds = {
    Threshold{"min_share", 0.01, "share", "1 % of the time is worth reporting"},
    Threshold{
        "cpu_share", 0.5, "share",
        "of these operators' time on a CPU, the part for memory, not exponentials: "
        "a softmax passes over its data three times and computes in one of them"},
};

std::vector<Claim> propose(const Context& context) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  const auto& launched = launched_work(context);
  const auto share = std::min(1.0, context.limits[kCpuShare]);
  std::vector<Excess> excess;
  std::vector<Mark> marks;
  for (const auto& attention : find_attentions(context, launched)) {
    for (const auto op : attention.saved) {
      if (t.host) {
        const auto saved =
            static_cast<std::int64_t>(share * static_cast<double>(c.dur[op]));
        marks.push_back({{c.ts[op], c.ts[op] + saved}, attention.softmax, 0});
      }
      for (const auto& work : launched.in(t.lanes.lane[op], {c.ts[op], c.end(op)})) {
        excess.push_back({work.device, work.row, 1, attention.softmax, 0});
      }
    }
    if (t.host) continue;
    for (const auto op : attention.products) {
      for (const auto& work : launched.in(t.lanes.lane[op], {c.ts[op], c.end(op)})) {
        const auto* calls = operator_times(context).of(work.row);
        if (calls == nullptr || !calls->slow()) continue;
        excess.push_back(
            {work.device, work.row, calls->excess(), attention.softmax, 0});
      }
    }
  }
  if (t.host) return claim_marks(context, PatternId::kUnfusedAttention, marks);
  return claim_rows(context, PatternId::kUnfusedAttention, std::move(excess));
}

bool in_math_fallback(const timeline::Timeline& t, std::uint32_t row) {
  const auto math = t.tree.innermost(row, [&](auto at) {
    return t.trace->name(at).starts_with("aten::_scaled_dot_product_attention_math");
  });
  return math != kNoRow;
}

std::string describe(const Context& context, const Finding& f) {
  const auto& t = context.timeline;
  std::string text = count_text(f.count, "attention", "attentions") +
                     " ran as product, softmax, product: the operators between the "
                     "products (and products that were slow) took up to " +
                     duration_text(f.wasted_ns) + (t.host ? " more than" : " that") +
                     " a fused kernel " + (t.host ? "needs." : "saves.");
  if (in_math_fallback(t, f.events.front())) {
    text +=
        " scaled_dot_product_attention itself fell back to this: check its mask, "
        "dtype and head size.";
  }
  return text;
}

}  // namespace
}  // namespace unfused_attention

const Rule kUnfusedAttentionRule{
    PatternId::kUnfusedAttention, unfused_attention::kThresholds,
    unfused_attention::propose, unfused_attention::describe};

}  // namespace tta::patterns

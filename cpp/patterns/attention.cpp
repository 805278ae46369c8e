// SPDX-License-Identifier: BSD-3-Clause
// patterns/attention.cpp: walks the operators of a thread from product to product.
#include "patterns/attention.h"

#include <string_view>

namespace tta::patterns {
namespace {

using trace::Category;

// Operators between the two products; no attention has more.
constexpr std::size_t kMaxBetween = 12;

// Of each row, whether it has a cpu_op among its children. Linear.
std::vector<char> rows_with_operators(const timeline::Timeline& t) {
  const auto& c = t.columns();
  std::vector<char> out(c.size(), 0);
  for (std::uint32_t row = 0; row < c.size(); ++row) {
    if (c.cat(row) == Category::kCpuOp && t.tree.parent[row] != kNoRow) {
      out[t.tree.parent[row]] = 1;
    }
  }
  return out;
}

// Where sizes are known, scores [B, M, N] of the first product are the left operand of
// the second. Otherwise nothing rules it out.
bool fit(const Context& context, std::uint32_t first, std::uint32_t second) {
  const auto* a = context.args.op(first);
  const auto* b = context.args.op(second);
  const auto skip =
      [&](std::uint32_t row) -> std::size_t {  // baddbmm adds to its first
    return context.timeline.trace->name(row).starts_with("aten::baddbmm") ? 1 : 0;
  };
  if (a == nullptr || b == nullptr) return true;
  const auto i = skip(first), k = skip(second);
  if (a->dims.size() < i + 2 || b->dims.size() < k + 1) return true;
  const auto &left = a->dims[i], &right = a->dims[i + 1], &scores = b->dims[k];
  if (left.size() != 3 || right.size() != 3 || scores.size() != 3) return true;
  return scores[0] == left[0] && scores[1] == left[1] && scores[2] == right[2];
}

// One pass over a thread, from product to product.
void add_attentions(const Context& context, std::uint32_t lane,
                    const std::vector<char>& has_children, const LaunchedWork& launched,
                    std::vector<Attention>& out) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  std::uint32_t product = kNoRow, before = kNoRow;
  Attention open;
  std::size_t between = 0;
  // The last found was a backward pass, and nothing came since.
  bool may_follow = false;
  auto done = t.span.begin;  // what is inside an operator already seen
  const auto restart = [&](std::uint32_t from) {
    product = from;
    before = kNoRow;
    may_follow = false;
    open = {};
    between = 0;
  };
  for (const auto row : t.lanes.rows_of(lane)) {
    if (c.cat(row) != Category::kCpuOp || c.ts[row] < done) continue;
    const bool is_product = t.named(row, Name::kBatchedProduct);
    const bool is_softmax = t.named(row, Name::kSoftmax);
    const bool is_fused = is_softmax || t.named(row, Name::kOnTheFly);
    if (!is_product && !is_fused) {
      if (has_children[row]) continue;  // they decide
      if (t.named(row, Name::kPrepares)) {
        done = c.end(row);
        continue;
      }
      const bool works = t.devices.empty()
                             ? t.named(row, Name::kOperator)
                             : !launched.in(lane, {c.ts[row], c.end(row)}).empty();
      if (works) restart(kNoRow);
      continue;
    }
    done = c.end(row);
    if (is_product) {
      const auto last = between == 0 ? product : kNoRow;
      bool backward = false;
      if (product != kNoRow && open.softmax != kNoRow) {
        backward = t.trace->name(open.softmax).ends_with("_backward_data");
        if (backward || fit(context, product, row)) {
          open.products = {product, row};
          if (backward && before != kNoRow) open.products.push_back(before);
          out.push_back(open);
        }
      } else if (may_follow && last != kNoRow) {
        out.back().products.push_back(row);
      }
      restart(row);
      before = last;
      may_follow = backward;
    } else if (product != kNoRow) {
      if (++between > kMaxBetween || (is_softmax && open.softmax != kNoRow)) {
        restart(kNoRow);
        continue;
      }
      if (is_softmax) open.softmax = row;
      open.saved.push_back(row);
    }
  }
}

}  // namespace

std::vector<Attention> find_attentions(const Context& context,
                                       const LaunchedWork& launched) {
  const auto& t = context.timeline;
  const auto& strings = t.trace->strings;
  if (strings.find("aten::_softmax") < 0 &&
      strings.find("aten::_softmax_backward_data") < 0) {
    return {};
  }
  const auto has_children = rows_with_operators(t);
  std::vector<Attention> out;
  for (const auto& lane : t.lanes.threads()) {
    add_attentions(context, lane.id, has_children, launched, out);
  }
  return out;
}

}  // namespace tta::patterns

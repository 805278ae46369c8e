// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/unfused_attention.cpp: attention as product, softmax, product.
//
// Between its two batched products, unfused attention writes and reads the whole matrix
// of scores for each of scale, mask, softmax and dropout. A fused kernel never stores
// it. What is claimed are these kernels alone; that the products too write and read
// the scores, about as much as one softmax does, comes on top and is not claimed, which
// outweighs the exponentials that a fused kernel has to compute as well.
//
// On the CPU exponentials are a good part of a softmax, so only a share is claimed.
#include <algorithm>
#include <array>

#include "patterns/host_ops.h"
#include "patterns/launched.h"
#include "patterns/marks.h"
#include "patterns/rule.h"

namespace tta::patterns {
namespace {

enum : std::size_t { kMinShare, kCpuShare };
constexpr std::array kThresholds = {
    Threshold{"min_share", 0.01, "share", "a hundredth of the time is worth a line"},
    Threshold{"cpu_share", 0.5, "share",
              "of these operators' time on a CPU, what is memory and not exponentials: "
              "a softmax passes over its data three times and computes in one of them"},
};

using trace::Category;

// Operators between the two products; no attention has more.
constexpr std::size_t kMaxBetween = 12;

enum Role : char {
  kUnknown,
  kProduct,
  kSoftmax,
  kFused,  ///< A fused kernel does it on the fly.
  kAside,  ///< Prepares a mask or the other operand; needed all the same.
};

constexpr std::array<std::string_view, 3> kProducts = {"aten::bmm", "aten::baddbmm",
                                                       "aten::baddbmm_"};
constexpr std::array<std::string_view, 2> kSoftmaxes = {"aten::_softmax",
                                                        "aten::_softmax_backward_data"};
constexpr std::array<std::string_view, 12> kOnTheFly = {
    "aten::mul",
    "aten::mul_",
    "aten::div",
    "aten::div_",
    "aten::add",
    "aten::add_",
    "aten::masked_fill",
    "aten::masked_fill_",
    "aten::native_dropout",
    "aten::_fused_dropout",
    "aten::where",
    "aten::native_dropout_backward"};
// The second half touches no data; in a CPU trace that is not to be seen otherwise.
constexpr std::array<std::string_view, 39> kPreparing = {"aten::copy_",
                                                         "aten::fill_",
                                                         "aten::index",
                                                         "aten::cat",
                                                         "aten::sub",
                                                         "aten::rsub",
                                                         "aten::eq",
                                                         "aten::ne",
                                                         "aten::lt",
                                                         "aten::le",
                                                         "aten::ge",
                                                         "aten::all",
                                                         "aten::logical_not",
                                                         "aten::bitwise_not",
                                                         "aten::tril",
                                                         "aten::bernoulli_",
                                                         "aten::expand",
                                                         "aten::view",
                                                         "aten::_unsafe_view",
                                                         "aten::_reshape_alias",
                                                         "aten::transpose",
                                                         "aten::permute",
                                                         "aten::as_strided",
                                                         "aten::slice",
                                                         "aten::select",
                                                         "aten::unsqueeze",
                                                         "aten::squeeze",
                                                         "aten::detach",
                                                         "aten::empty",
                                                         "aten::empty_like",
                                                         "aten::empty_strided",
                                                         "aten::resize_",
                                                         "aten::scalar_tensor",
                                                         "aten::to",
                                                         "aten::dropout",
                                                         "aten::contiguous",
                                                         "aten::reshape",
                                                         "aten::result_type",
                                                         "aten::resolve_conj"};

std::vector<Role> roles_of_names(const trace::Trace& trace) {
  std::vector<Role> out(trace.strings.size(), kUnknown);
  for (std::uint32_t id = 0; id < out.size(); ++id) {
    const auto name = trace.strings.view(id);
    const auto among = [&](const auto& names) {
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    out[id] = among(kProducts)    ? kProduct
              : among(kSoftmaxes) ? kSoftmax
              : among(kOnTheFly)  ? kFused
              : among(kPreparing) ? kAside
                                  : kUnknown;
  }
  return out;
}

// Where sizes are known, scores [B, M, N] of the first product are the left operand of
// the second. Where they are not, nothing is said against it.
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

struct Attention {
  std::uint32_t softmax = kNoRow;
  std::vector<std::uint32_t> saved;  // softmax included
};

// One pass over a thread, from product to product.
std::vector<Attention> attentions_of(const Context& context, std::uint32_t lane,
                                     const std::vector<Role>& roles,
                                     const std::vector<char>& has_children,
                                     const LaunchedWork& launched) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  std::vector<Attention> out;
  std::uint32_t product = kNoRow;
  Attention open;
  std::size_t between = 0;
  auto done = t.span.begin;  // what is inside an operator already seen
  const auto restart = [&](std::uint32_t from) {
    product = from;
    open = {};
    between = 0;
  };
  for (const auto row : t.lanes.rows_of(t.lanes.lanes[lane])) {
    if (c.cat(row) != Category::kCpuOp || c.ts[row] < done) continue;
    const auto role = roles[c.name[row]];
    if (role == kUnknown) {
      if (has_children[row]) continue;  // they decide
      const bool works = t.devices.empty()
                             ? names_an_operator(t.trace->name(row))
                             : !launched.in(lane, {c.ts[row], c.end(row)}).empty();
      if (works) restart(kNoRow);
      continue;
    }
    if (role == kAside && has_children[row]) continue;
    done = c.end(row);
    if (role == kProduct) {
      if (product != kNoRow && open.softmax != kNoRow) {
        const bool backward = t.trace->name(open.softmax).ends_with("_backward_data");
        if (backward || fit(context, product, row)) out.push_back(open);
      }
      restart(row);
    } else if (product != kNoRow && role != kAside) {
      if (++between > kMaxBetween || (role == kSoftmax && open.softmax != kNoRow)) {
        restart(kNoRow);
        continue;
      }
      if (role == kSoftmax) open.softmax = row;
      open.saved.push_back(row);
    }
  }
  return out;
}

std::vector<Claim> propose(const Context& context) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  const auto roles = roles_of_names(*t.trace);
  if (std::find(roles.begin(), roles.end(), kSoftmax) == roles.end()) return {};
  const auto has_children = rows_with_operators(t);
  const LaunchedWork launched(t);
  std::vector<Excess> excess;
  std::vector<Mark> marks;
  for (std::uint32_t lane = 0; lane < t.lanes.lanes.size(); ++lane) {
    if (t.lanes.lanes[lane].is_stream) continue;
    for (const auto& a : attentions_of(context, lane, roles, has_children, launched)) {
      for (const auto op : a.saved) {
        if (t.host) {
          const auto saved = static_cast<double>(c.dur[op]) * context.limits[kCpuShare];
          const auto end =
              c.ts[op] + static_cast<std::int64_t>(std::min(saved, double(c.dur[op])));
          marks.push_back({{c.ts[op], end}, a.softmax, 0});
          continue;
        }
        for (const auto& work : launched.in(lane, {c.ts[op], c.end(op)})) {
          excess.push_back(
              {work.device, {c.ts[work.row], c.end(work.row)}, a.softmax, 0});
        }
      }
    }
  }
  if (t.host) return claim_marks(context, PatternId::kUnfusedAttention, marks);
  return claim_excess(context, PatternId::kUnfusedAttention, std::move(excess));
}

bool in_math_fallback(const timeline::Timeline& t, std::uint32_t row) {
  for (int depth = 0; row != kNoRow && depth < 16; row = t.tree.parent[row], ++depth) {
    if (t.trace->name(row).starts_with("aten::_scaled_dot_product_attention_math")) {
      return true;
    }
  }
  return false;
}

std::string describe(const Context& context, const Finding& f) {
  const auto& t = context.timeline;
  std::string text =
      count_text(f.count, "attention", "attentions") +
      " ran as product, softmax, product: what lies between the products took " +
      duration_text(f.wasted_ns) + (t.host ? " more than" : " that") +
      " a fused kernel " + (t.host ? "needs." : "does without.");
  if (in_math_fallback(t, f.events.front())) {
    text +=
        " scaled_dot_product_attention itself fell back to this: look at its mask, "
        "dtype and head size.";
  }
  return text;
}

}  // namespace

const Rule kUnfusedAttentionRule{PatternId::kUnfusedAttention, kThresholds, propose,
                                 describe};

}  // namespace tta::patterns

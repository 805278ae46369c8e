// SPDX-License-Identifier: BSD-3-Clause
// patterns/attention.cpp: walks the operators of a thread from product to product.
#include "patterns/attention.h"

#include <algorithm>
#include <array>

#include "patterns/host_ops.h"

namespace tta::patterns {
namespace {

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

// One pass over a thread, from product to product.
void add_attentions(const Context& context, std::uint32_t lane,
                    const std::vector<Role>& roles,
                    const std::vector<char>& has_children, const LaunchedWork& launched,
                    std::vector<Attention>& out) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  std::uint32_t product = kNoRow, before = kNoRow;
  Attention open;
  std::size_t between = 0;
  bool may_follow =
      false;  // the last found was a backward pass, and nothing came since
  auto done = t.span.begin;  // what is inside an operator already seen
  const auto restart = [&](std::uint32_t from) {
    product = from;
    before = kNoRow;
    may_follow = false;
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
    } else if (product != kNoRow && role != kAside) {
      if (++between > kMaxBetween || (role == kSoftmax && open.softmax != kNoRow)) {
        restart(kNoRow);
        continue;
      }
      if (role == kSoftmax) open.softmax = row;
      open.saved.push_back(row);
    }
  }
}

}  // namespace

std::vector<Attention> find_attentions(const Context& context,
                                       const LaunchedWork& launched) {
  const auto& t = context.timeline;
  const auto roles = roles_of_names(*t.trace);
  if (std::find(roles.begin(), roles.end(), kSoftmax) == roles.end()) return {};
  const auto has_children = rows_with_operators(t);
  std::vector<Attention> out;
  for (std::uint32_t lane = 0; lane < t.lanes.lanes.size(); ++lane) {
    if (t.lanes.lanes[lane].is_stream) continue;
    add_attentions(context, lane, roles, has_children, launched, out);
  }
  return out;
}

}  // namespace tta::patterns

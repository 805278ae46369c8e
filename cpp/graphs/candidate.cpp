// SPDX-License-Identifier: BSD-3-Clause
// graphs/candidate.cpp: operators and inputs, node by node.
#include "graphs/candidate.h"

#include <algorithm>

#include "timeline/engine_steps.h"

namespace tta::graphs {
namespace {

using timeline::kNoRow;

}  // namespace

Calls compare_calls(const Captures& captures, const Candidate& a, const Candidate& b) {
  const auto& one = *captures[a.capture];
  const auto& other = *captures[b.capture];
  auto out = Calls::kSame;
  for (std::size_t i = 0; i < a.launches.size(); ++i) {
    if (a.launches[i] == kNoRow || b.launches[i] == kNoRow) continue;
    const auto x = one.launches[a.launches[i]].op, y = other.launches[b.launches[i]].op;
    if (x == kNoRow && y == kNoRow) continue;
    if (x == kNoRow || y == kNoRow) return Calls::kOtherOperators;
    const auto& left = one.ops[x];
    const auto& right = other.ops[y];
    if (one.texts[left.name] != other.texts[right.name]) return Calls::kOtherOperators;
    const bool both = left.inputs != kNoRow && right.inputs != kNoRow;
    if (both ? (&one != &other || left.inputs != right.inputs) &&
                   one.inputs[left.inputs] != other.inputs[right.inputs]
             : left.inputs != right.inputs) {
      out = Calls::kOtherSizes;
    }
  }
  return out;
}

std::int64_t batch_around(const timeline::Timeline& t, std::uint32_t launch) {
  std::int64_t batch = -1;
  for (const auto at : t.tree.above(launch)) {
    if (t.columns().cat(at) != trace::Category::kUserAnnotation) continue;
    const auto scope = timeline::engine_scope_of(t.trace->name(at));
    // vLLM captures by tokens.
    if (scope) {
      batch = std::max(batch, scope->engine == "vLLM" ? scope->tokens : scope->batch);
    }
  }
  return batch;
}

}  // namespace tta::graphs

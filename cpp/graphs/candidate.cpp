// SPDX-License-Identifier: BSD-3-Clause
// graphs/candidate.cpp: operators and inputs, node by node; numbers in annotations.
#include "graphs/candidate.h"

#include <algorithm>
#include <string_view>

namespace tta::graphs {
namespace {

using timeline::kNoRow;

// The number that follows a mark; -1: none.
std::int64_t number_after(std::string_view text, std::string_view mark) {
  auto at = text.find(mark);
  if (at == text.npos) return -1;
  std::int64_t out = -1;
  for (at += mark.size(); at < text.size() && text[at] >= '0' && text[at] <= '9';
       ++at) {
    out = std::min<std::int64_t>(std::max<std::int64_t>(out, 0) * 10 + (text[at] - '0'),
                                 1 << 30);
  }
  return out;
}

// The batch in an annotation, for vLLM in tokens: "step[DECODE bs=64]",
// "execute_40_...", "execute_context_1(8)_generation_32(32)"; -1: none.
std::int64_t batch_in(std::string_view note) {
  for (const std::string_view mark : {"bs=", "execute_"}) {
    const auto batch = number_after(note, mark);
    if (batch > 0) return batch;
  }
  std::int64_t sum = -1;
  for (const std::string_view mark : {"context_", "generation_"}) {
    const auto at = note.find(mark);
    if (at == note.npos) continue;
    const auto tokens = number_after(note.substr(at), "(");
    if (tokens > 0) sum = std::max<std::int64_t>(sum, 0) + tokens;
  }
  return sum;
}

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
    batch = std::max(batch, batch_in(t.trace->name(at)));
  }
  return batch;
}

}  // namespace tta::graphs

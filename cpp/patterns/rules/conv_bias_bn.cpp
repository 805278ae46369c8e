// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/conv_bias_bn.cpp: a bias that the batch norm after it takes out.
//
// Batch norm subtracts the mean, and with it any bias of the convolution before. Where
// the library adds the bias in a kernel of its own (aten::add_ inside
// aten::_convolution), this kernel is the cost; where the convolution does it on the
// way there is none, and nothing is claimed, whatever the model says. In the backward
// pass the bias' gradient is a sum over the output's: aten::sum inside
// aten::convolution_backward.
#include <array>
#include <unordered_set>

#include "patterns/device_work.h"
#include "patterns/marks.h"
#include "patterns/rule.h"

namespace tta::patterns {
namespace conv_bias_bn {
namespace {

constexpr std::array kThresholds = {
    Threshold{"min_share", 0.01, "share", "1 % of the time is worth reporting"},
};

using trace::Category;
constexpr int kMaxDepth = 16;  // of operators inside a convolution

// The innermost operator around a row that passes a test; kNoRow if there is none near.
template <typename Test>
std::uint32_t around(const timeline::Timeline& t, std::uint32_t row, Test&& test) {
  int depth = 0;
  for (const auto at : t.tree.around(row)) {
    if (t.columns().cat(at) == Category::kCpuOp && test(at)) return at;
    if (++depth == kMaxDepth) break;
  }
  return kNoRow;
}

// The convolutions whose next operator on their thread is a batch norm, which counts
// its batches first (an add_ of one number).
std::unordered_set<std::uint32_t> normalized(const timeline::Timeline& t) {
  const auto& c = t.columns();
  std::unordered_set<std::uint32_t> out;
  for (const auto& lane : t.lanes.threads()) {
    std::uint32_t convolution = kNoRow;
    auto done = t.span.begin;
    bool counted = false;
    for (const auto row : t.lanes.rows_of(lane)) {
      if (c.cat(row) != Category::kCpuOp || c.ts[row] < done ||
          !t.named(row, Name::kAten)) {
        continue;
      }
      done = c.end(row);
      if (t.named(row, Name::kConvolution)) {
        convolution = row;
        counted = false;
      } else if (convolution != kNoRow && !counted &&
                 t.trace->name(row) == "aten::add_") {
        counted = true;
      } else {
        if (convolution != kNoRow && t.named(row, Name::kBatchNorm)) {
          out.insert(convolution);
        }
        convolution = kNoRow;
      }
    }
  }
  return out;
}

std::vector<Claim> propose(const Context& context) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  const auto convolutions = normalized(t);
  if (convolutions.empty()) return {};
  const auto& launched = launched_work(context);
  std::unordered_set<std::int64_t> sequences;  // of autograd, of these convolutions
  std::vector<std::uint32_t> sums;
  std::vector<Mark> marks;
  std::vector<Excess> excess;
  const auto claim = [&](std::uint32_t row) {
    const Interval call{c.ts[row], c.end(row)};
    if (t.host) marks.push_back({call, row, 0});
    for (const auto& work : launched.in(t.lanes.lane[row], call)) {
      excess.push_back({work.device, work.row, 1, row, 0});
    }
  };
  for (std::uint32_t row = 0; row < c.size(); ++row) {
    if (c.cat(row) != Category::kCpuOp || t.lanes.lane[row] == timeline::kNoLane) {
      continue;
    }
    const auto name = t.trace->name(row);
    const auto parent = t.tree.parent[row];
    if (parent == kNoRow) continue;
    if (name == "aten::add_" && t.trace->name(parent) == "aten::_convolution") {
      const auto convolution =
          around(t, parent, [&](auto at) { return t.named(at, Name::kConvolution); });
      if (!convolutions.contains(convolution)) continue;
      claim(row);
      for (const auto at : t.tree.around(parent)) {
        if (c.sequence[at] >= 0) sequences.insert(c.sequence[at]);
        if (at == convolution) break;
      }
    } else if (name == "aten::sum" &&
               t.trace->name(parent) == "aten::convolution_backward") {
      sums.push_back(row);
    }
  }
  for (const auto row : sums) {
    const auto node = around(t, row, [&](auto at) {
      return timeline::contains(t.trace->name(at), "ConvolutionBackward");
    });
    if (node != kNoRow && sequences.contains(c.sequence[node])) claim(row);
  }
  if (t.host) return claim_marks(context, PatternId::kConvBiasBn, std::move(marks));
  return claim_rows(context, PatternId::kConvBiasBn, std::move(excess));
}

std::string describe(const Context&, const Finding& f) {
  return count_text(f.count, "operator", "operators") +
         " on the bias of convolutions before a batch norm, which removes it "
         "again: " +
         duration_text(f.wasted_ns) + ".";
}

}  // namespace
}  // namespace conv_bias_bn

const Rule kConvBiasBnRule{PatternId::kConvBiasBn, conv_bias_bn::kThresholds,
                           conv_bias_bn::propose, conv_bias_bn::describe};

}  // namespace tta::patterns

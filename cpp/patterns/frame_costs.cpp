// SPDX-License-Identifier: BSD-3-Clause
// patterns/frame_costs.cpp: adds time up along the frames around it.
#include "patterns/frame_costs.h"

#include <unordered_map>
#include <vector>

namespace tta::patterns {
namespace {

using trace::Category;

struct Cost {
  std::uint32_t row = 0;
  int depth = 0;
  std::int64_t ns = 0;
  std::size_t last = 0;  // stretch that was counted last: a recursion counts once
};

bool is_of(std::string_view frame, timeline::FileOwner least) {
  if (least == timeline::FileOwner::kTorch) return true;
  const auto parsed = timeline::parse_frame(frame);
  return parsed && timeline::owner_of_file(parsed->file) >= least;
}

}  // namespace

std::optional<FrameCost> deepest_of_most(const timeline::Timeline& t,
                                         std::span<const PythonStretch> stretches,
                                         std::int64_t of, bool inside,
                                         timeline::FileOwner least) {
  const auto& c = t.columns();
  std::unordered_map<std::uint32_t, Cost> costs;  // by name
  std::vector<std::uint32_t> above;
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    above.clear();
    auto row = stretches[i].frame;
    for (int up = 0; row != kNoRow && up < timeline::kMaxDepth;
         row = t.tree.parent[row], ++up) {
      if (c.cat(row) == Category::kPythonFunction) {
        above.push_back(row);
      } else if (inside) {
        break;
      }
    }
    for (std::size_t k = 0; k < above.size(); ++k) {
      const auto depth = static_cast<int>(above.size() - k);
      auto& cost = costs.try_emplace(c.name[above[k]], Cost{above[k], depth, 0, 0})
                       .first->second;
      if (cost.last == i + 1) continue;
      cost.last = i + 1;
      cost.ns += stretches[i].time.length();
    }
  }
  const Cost* best = nullptr;
  for (const auto& [name, cost] : costs) {
    if (2 * cost.ns <= of || !is_of(t.trace->name(cost.row), least)) continue;
    if (best == nullptr || cost.depth > best->depth ||
        (cost.depth == best->depth && cost.ns > best->ns)) {
      best = &cost;
    }
  }
  if (best == nullptr) return std::nullopt;
  return FrameCost{best->row, best->ns};
}

std::optional<FrameCost> costliest_call(const timeline::Timeline& t,
                                        std::span<const PythonStretch> stretches) {
  const auto& c = t.columns();
  std::vector<char> works(c.size(), 0);  // holds an operator or a runtime call
  for (std::uint32_t row = 0; row < c.size(); ++row) {
    if (c.cat(row) != Category::kCpuOp && !c.cat_info(row).runtime_api) continue;
    for (auto at = row; at != kNoRow && !works[at]; at = t.tree.parent[at])
      works[at] = 1;
  }
  std::unordered_map<std::uint32_t, FrameCost> costs;  // by name
  for (const auto& stretch : stretches) {
    auto top = stretch.frame;
    for (int up = 0; up < timeline::kMaxDepth; ++up) {
      const auto parent = t.tree.parent[top];
      if (parent == kNoRow || works[parent] ||
          c.cat(parent) != Category::kPythonFunction) {
        break;
      }
      top = parent;
    }
    costs.try_emplace(c.name[top], FrameCost{top, 0}).first->second.ns +=
        stretch.time.length();
  }
  std::optional<FrameCost> best;
  for (const auto& [name, cost] : costs) {
    if (!best || cost.ns > best->ns || (cost.ns == best->ns && cost.row < best->row)) {
      best = cost;
    }
  }
  return best;
}

}  // namespace tta::patterns

// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/launch_bound/decoding.cpp: counts rounds from embedding to choice.
#include "patterns/rules/launch_bound/decoding.h"

#include <string_view>
#include <vector>

namespace tta::patterns {
namespace {

constexpr int kLeastRounds = 3;   // fewer may be anything
constexpr int kLeastAppends = 2;  // one layer's keys and values

enum class Part : char { kOther, kEmbeds, kAppends, kChooses, kBackward };

Part part_of(std::string_view name) {
  if (name == "aten::embedding") return Part::kEmbeds;
  // Caches that grow, and those of a fixed size.
  if (name == "aten::cat" || name == "aten::index_copy_") return Part::kAppends;
  if (name == "aten::argmax" || name == "aten::multinomial") return Part::kChooses;
  return name.starts_with("autograd::engine::") ? Part::kBackward : Part::kOther;
}

}  // namespace

std::set<std::int64_t> processes_that_decode(const timeline::Timeline& t) {
  const auto& c = t.columns();
  std::vector<Part> parts;
  for (std::uint32_t id = 0; id < t.trace->strings.size(); ++id) {
    parts.push_back(part_of(t.trace->strings.view(id)));
  }
  std::set<std::int64_t> decoding, training;
  for (const auto& lane : t.lanes.lanes) {
    if (lane.is_stream) continue;
    int rounds = 0, appends = -1;  // -1: since the last choice nothing was embedded
    for (const auto row : t.lanes.rows_of(lane)) {
      if (c.cat(row) != trace::Category::kCpuOp) continue;
      const auto part = parts[c.name[row]];
      if (part == Part::kEmbeds) {
        appends = 0;
      } else if (part == Part::kAppends) {
        appends += appends >= 0;
      } else if (part == Part::kChooses) {
        rounds += appends >= kLeastAppends;
        appends = -1;
      } else if (part == Part::kBackward) {
        training.insert(lane.pid);
      }
    }
    if (rounds >= kLeastRounds) decoding.insert(lane.pid);
  }
  for (const auto pid : training) decoding.erase(pid);
  return decoding;
}

}  // namespace tta::patterns

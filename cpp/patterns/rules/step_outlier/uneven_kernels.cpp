// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/step_outlier/uneven_kernels.cpp: groups kernels by what they computed,
// then compares.
#include "patterns/rules/step_outlier/uneven_kernels.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "patterns/excess.h"
#include "timeline/median.h"

namespace tta::patterns {
namespace {

// What an operator took, as one number: its name, sizes and types (FNV-1a); 0 if it has
// no sizes.
std::uint64_t inputs_of(const Context& context, std::uint32_t op) {
  const auto* args = context.args.op(op);
  if (args == nullptr) return 0;
  std::uint64_t hash = 14695981039346656037u;
  const auto add = [&](std::uint64_t value) { hash = (hash ^ value) * 1099511628211u; };
  bool sized = false;
  add(context.timeline.columns().name[op]);
  for (const auto& input : args->dims) {
    add(input.size());
    for (const auto size : input) add(static_cast<std::uint64_t>(size));
    sized |= !input.empty();
  }
  for (const auto& type : args->types) add(std::hash<std::string>{}(type));
  return sized ? std::max<std::uint64_t>(hash, 1) : 0;
}

struct Runs {
  std::vector<std::uint32_t> kernels;
  std::uint32_t op = kNoRow;  // of the last of them
  bool parts = false;         // an operator launched several: each has its own length
};

void compare(const trace::Columns& c, std::size_t device,
             const std::vector<std::uint32_t>& runs, const UnevenLimits& limits,
             std::vector<UnevenKernel>& out) {
  // The first run is left out, and one alone has nothing to be compared with.
  if (runs.size() < std::max<std::size_t>(2, limits.min_runs + 1)) return;
  std::vector<std::int64_t> lengths;
  for (auto run = runs.begin() + 1; run != runs.end(); ++run) {
    lengths.push_back(c.dur[*run]);
  }
  const auto usual = timeline::lower_median(lengths);
  const auto over = [&](std::int64_t length) {
    return static_cast<double>(length - usual) / static_cast<double>(usual);
  };
  if (usual <= 0 || usual < limits.min_kernel) return;
  const auto even = std::count_if(lengths.begin(), lengths.end(), [&](auto length) {
    return std::abs(over(length)) <= limits.even_range;
  });
  if (static_cast<double>(even) <
      limits.even_share * static_cast<double>(lengths.size())) {
    return;
  }
  for (auto run = runs.begin() + 1; run != runs.end(); ++run) {
    if (over(c.dur[*run]) >= limits.min_excess) {
      out.push_back({device, *run, usual});
    }
  }
}

}  // namespace

std::vector<UnevenKernel> uneven_kernels(const Context& context,
                                         const UnevenLimits& limits) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  std::vector<UnevenKernel> out;
  std::unordered_map<std::uint32_t, std::uint64_t> inputs;  // of each operator
  auto& sole = sole_kernels(context);
  for (std::size_t i = 0; i < t.devices.size(); ++i) {
    std::map<std::tuple<std::uint32_t, std::int64_t, std::uint64_t>, Runs> equal;
    for (const auto& kernel : sole.of(i)) {
      // Beside other work a kernel is slower, and not for a reason of its own. (Ends
      // and begins of kernels in a row may overlap by some ns.)
      if (kernel.time.length() < c.dur[kernel.row] / 100 * 99) continue;
      const auto op = t.owner_of(kernel.row);
      if (op == kNoRow) continue;
      const auto [known, fresh] = inputs.try_emplace(op);
      if (fresh) known->second = inputs_of(context, op);
      if (known->second == 0) continue;
      auto& runs = equal[{c.name[kernel.row], context.args.work(kernel.row).grid_shape,
                          known->second}];
      runs.parts |= runs.op == op;
      runs.op = op;
      runs.kernels.push_back(kernel.row);
    }
    for (const auto& [what, runs] : equal) {
      if (!runs.parts) compare(c, i, runs.kernels, limits, out);
    }
  }
  std::sort(out.begin(), out.end(), [&](const UnevenKernel& a, const UnevenKernel& b) {
    return std::tuple(a.device, c.ts[a.row], a.row) <
           std::tuple(b.device, c.ts[b.row], b.row);
  });
  return out;
}

}  // namespace tta::patterns

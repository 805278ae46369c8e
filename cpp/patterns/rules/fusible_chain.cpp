// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/fusible_chain.cpp: elementwise kernels one after another.
//
// Each kernel of a chain reads from memory what the one before it wrote there. Fused,
// at least this reading goes, and the writing too where nothing else (a backward pass)
// needs the value: of an elementwise kernel's two or three passes over memory one or
// two. Half of all kernels but the longest is claimed for that, where the host was
// ahead (launching less is launch_bound's to say). Which kernel reads whose output is
// not in a trace, so chains have to repeat, within one function.
#include <algorithm>
#include <array>
#include <map>

#include "patterns/device_work.h"
#include "patterns/rule.h"
#include "timeline/frames.h"

namespace tta::patterns {
namespace fusible_chain {
namespace {

enum : std::size_t { kMinShare, kMinLength, kMaxLength, kMinRepeats, kSavedShare };
constexpr std::array kThresholds = {
    Threshold{"min_share", 0.01, "share", "msprof-analyze: 1 % of the time"},
    Threshold{"min_length", 3, "count", "two save too little for a change of code"},
    Threshold{"max_length", 16, "count",
              "msprof-analyze: 10; longer runs go from parameter to parameter and "
              "pass no data on"},
    Threshold{"min_repeats", 5, "count", "msprof-analyze: 5 times the same sequence"},
    Threshold{
        "saved_share", 0.67, "share",
        "of all but one of a chain: its repeated reads and writes, two passes "
        "over memory of two or three; less if backward needs the results between"},
};

using trace::Category;

// The user's function that contains a launch: the row of its frame; without frames, of
// the annotation that is not a step; kNoRow if there is neither. Launches of an
// optimizer, zero_grad or gradient accumulation go from parameter to parameter.
class Scopes {
 public:
  static constexpr std::uint32_t kNone = kNoRow - 1;  // in an optimizer

  explicit Scopes(const timeline::Timeline& t)
      : t_(t), known_(t.columns().size(), 0), scope_(t.columns().size(), kNoRow) {}

  std::uint32_t operator()(std::uint32_t row) {
    path_.clear();
    while (row != kNoRow && !known_[row] && !decide(row)) {
      path_.push_back(row);
      row = t_.tree.parent[row];
    }
    const auto scope = row == kNoRow ? kNoRow : scope_[row];
    for (const auto seen : path_) {
      known_[seen] = 1;
      scope_[seen] = scope;
    }
    return scope;
  }

 private:
  bool decide(std::uint32_t row) {
    const auto cat = t_.columns().cat(row);
    const auto name = t_.trace->name(row);
    if (t_.named(row, Name::kOptimizer) || t_.named(row, Name::kAccumulatesGradient)) {
      scope_[row] = kNone;
    } else if (cat == Category::kPythonFunction) {
      const auto frame = timeline::parse_frame(name);
      if (!frame ||
          timeline::owner_of_file(frame->file) == timeline::FileOwner::kTorch) {
        return false;
      }
      scope_[row] = row;
    } else if (cat == Category::kUserAnnotation && !timeline::step_number(name)) {
      scope_[row] = row;
    } else {
      return false;
    }
    known_[row] = 1;
    return true;
  }

  const timeline::Timeline& t_;
  std::vector<char> known_;
  std::vector<std::uint32_t> scope_, path_;
};
using Chain = std::vector<std::uint32_t>;  // rows of elementwise kernels

// One kernel again and again goes from tensor to tensor: a loop over parameters.
bool several_kinds(const std::vector<std::uint32_t>& key) {
  return std::any_of(key.begin() + 2, key.end(),
                     [&](std::uint32_t name) { return name != key[1]; });
}

// Chains by what they are: the name of their scope, then those of their kernels.
std::map<std::vector<std::uint32_t>, std::vector<Chain>> chains_of(
    const Context& context) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  Scopes scope_of(t);
  std::map<std::vector<std::uint32_t>, std::vector<Chain>> out;
  for (const auto& lane : t.lanes.streams()) {
    Chain chain;
    std::vector<std::uint32_t> key;
    std::uint32_t scope = kNoRow;
    const auto close = [&] {
      const auto length = static_cast<double>(chain.size());
      if (length >= context.limits[kMinLength] &&
          length <= context.limits[kMaxLength] && several_kinds(key)) {
        out[key].push_back(chain);
      }
      chain.clear();
      key.clear();
    };
    for (const auto row : t.lanes.rows_of(lane)) {
      if (!c.cat_info(row).device_work) continue;
      const bool carried = t.named(row, Name::kCarried);
      const bool chained = c.cat(row) == Category::kKernel &&
                           (carried || (t.named(row, Name::kElementwise) &&
                                        !t.named(row, Name::kMultiTensor)));
      const auto launch = t.launch_of(row);
      const auto in = chained && launch != kNoRow ? scope_of(launch) : kNoRow;
      if (!chained || in == Scopes::kNone) {
        close();
        continue;
      }
      if (carried) continue;
      if (!chain.empty() && in != scope) close();
      if (chain.empty()) {
        scope = in;
        key.push_back(in == kNoRow ? 0 : c.name[in]);
      }
      chain.push_back(row);
      key.push_back(c.name[row]);
    }
    close();
  }
  return out;
}

std::vector<Claim> propose(const Context& context) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  std::map<std::int32_t, std::uint32_t> place;  // of a device's key
  for (std::uint32_t i = 0; i < t.devices.size(); ++i) place[t.devices[i].device] = i;
  std::vector<Excess> excess;
  for (const auto& [key, chains] : chains_of(context)) {
    if (static_cast<double>(chains.size()) < context.limits[kMinRepeats]) continue;
    for (const auto& chain : chains) {
      const auto lane = t.lanes.lane[chain.front()];
      const auto device = place.find(t.lanes.lanes[lane].device);
      if (device == place.end()) continue;
      const auto longest =
          std::max_element(chain.begin(), chain.end(),
                           [&](auto a, auto b) { return c.dur[a] < c.dur[b]; });
      for (const auto row : chain) {
        if (row == *longest) continue;
        excess.push_back(
            {device->second, row, context.limits[kSavedShare], chain.front(), 0});
      }
    }
  }
  return claim_rows(context, PatternId::kFusibleChain, std::move(excess));
}

std::string describe(const Context&, const Finding& f) {
  return count_text(f.count, "chain", "chains") +
         " of elementwise kernels passed data through memory: fused, they would "
         "take up to " +
         duration_text(f.wasted_ns) + " less.";
}

}  // namespace
}  // namespace fusible_chain

const Rule kFusibleChainRule{PatternId::kFusibleChain, fusible_chain::kThresholds,
                             fusible_chain::propose, fusible_chain::describe};

}  // namespace tta::patterns

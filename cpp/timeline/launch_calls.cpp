// SPDX-License-Identifier: BSD-3-Clause
// timeline/launch_calls.cpp: counts the work of each call, then asks its name.
#include "timeline/launch_calls.h"

#include <unordered_map>

#include "timeline/by_name.h"

namespace tta::timeline {
namespace {

// Of the calls of a launching name, even in a trace that lost most of its kernels.
constexpr double kLaunchingShare = 0.25;

bool names_a_copy(std::string_view name) {
  return contains(name, "emcpy") || contains(name, "emset");
}

}  // namespace

bool names_a_launch(std::string_view name) {
  return contains_any(
      name, {"LaunchKernel", "KernelLaunch", "GraphLaunch", "LaunchCooperativeKernel"});
}

std::vector<LaunchCall> list_launch_calls(const trace::Trace& t, const Lanes& lanes,
                                          const Links& links) {
  const auto& c = t.columns;
  std::vector<std::uint32_t> work(c.size(), 0);
  std::unordered_map<std::int64_t, std::uint32_t> of_external_id;
  for (const auto& lane : lanes.lanes) {
    if (!lane.is_stream) continue;
    for (const auto row : lanes.rows_of(lane)) {
      if (c.correlation[row] <= 0) {
        ++of_external_id[c.external_id[row]];
      } else if (links.launch[row] != kNoRow) {
        ++work[links.launch[row]];
      }
    }
  }

  struct Name {
    bool says_so = false;
    std::uint32_t calls = 0, launched = 0;
  };
  std::vector<Name> names(t.strings.size());
  for (std::uint32_t id = 0; id < names.size(); ++id) {
    names[id].says_so = names_a_launch(t.strings.view(id));
  }
  std::vector<LaunchCall> calls;
  for (std::uint32_t row = 0; row < c.size(); ++row) {
    if (!c.cat_info(row).runtime_api || lanes.lane[row] == kNoLane) continue;
    auto& name = names[c.name[row]];
    if (c.correlation[row] > 0) {
      ++name.calls;
      name.launched += work[row] > 0;
      calls.push_back({row, work[row]});
    } else if (c.external_id[row] > 0 && name.says_so) {
      const auto found = of_external_id.find(c.external_id[row]);
      calls.push_back({row, found == of_external_id.end() ? 0 : found->second});
    }
  }
  std::erase_if(calls, [&](const LaunchCall& call) {
    const auto& name = names[c.name[call.row]];
    if (name.says_so) return false;
    return name.launched < kLaunchingShare * name.calls || name.launched == 0 ||
           names_a_copy(t.name(call.row));
  });
  return calls;
}

}  // namespace tta::timeline

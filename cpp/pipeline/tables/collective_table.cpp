// SPDX-License-Identifier: BSD-3-Clause
// pipeline/tables/collective_table.cpp: what collectives carried, against their link.
//
// A kernel of a collective begins when its own rank is ready and waits for the others.
// In one rank's trace the shortest of many with the same size is closest to the
// transfer alone; a job's traces show it exactly (pipeline/ranks).
#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "patterns/communication.h"
#include "pipeline/tables/tables.h"
#include "timeline/gpu_table.h"

namespace tta::pipeline {
namespace {

// NCCL's own tests reach their plateau from about 16 MiB on; under 1 MiB a collective
// is mostly latency.
constexpr std::int64_t kLarge = 16 << 20, kSmall = 1 << 20;
// All-reduce reaches 230 to 240 of 300 GB/s on A100 and 360 of 450 on H100 (NCCL
// tests): what never exceeds 30 % is not set up as it could be.
constexpr double kSetUp = 0.3;
// The usual one takes twice as long as the best: the rest is waiting.
constexpr double kWaiting = 0.5;

// Of the link between devices of one machine; 0: unknown, or ranks of several machines.
double link_of(const timeline::Timeline& t, std::int32_t device, std::int64_t ranks) {
  const auto* properties = t.properties_of(device);
  const auto in_machine = static_cast<std::int64_t>(t.properties.size());
  if (properties == nullptr || ranks < 2 || ranks > in_machine) return 0;
  return std::max(0.0, timeline::peer_link_gb_s(properties->name));
}

void judge(std::vector<CollectiveRate>& rows) {
  std::map<std::int32_t, double> best;  // Of large ones, by device.
  for (const auto& row : rows) {
    if (row.efficiency && row.bytes >= kLarge) {
      best[row.device] = std::max(best[row.device], *row.efficiency);
    }
  }
  for (auto& row : rows) {
    const auto at = best.find(row.device);
    if (row.bytes < kSmall) {
      row.reason = "latency";
    } else if (at != best.end() && at->second < kSetUp) {
      row.reason = "set_up";
    } else if (row.count >= 3 && row.gb_s < kWaiting * row.best_gb_s) {
      row.reason = "waiting";
    }
  }
}

}  // namespace

std::vector<CollectiveRate> list_collectives(const timeline::Timeline& t,
                                             const timeline::EventArgs& args) {
  const auto& c = t.columns();
  using Key =
      std::tuple<std::int32_t, std::string, std::string, std::int64_t, std::int64_t>;
  struct Group {
    std::vector<std::int64_t> ns;
    double sent = 0;
  };
  std::map<Key, Group> groups;
  for (const auto& d : t.devices) {
    for (const auto row : d.rows) {
      if (!t.is_communication(row) || c.dur[row] <= 0) continue;
      const auto* known = patterns::collective_of(t, args, row);
      if (known == nullptr) continue;
      const auto sent = patterns::bytes_sent(*known);
      if (!(sent > 0)) continue;
      auto& group = groups[{d.number, known->name, known->dtype, known->bytes(),
                            known->group_size}];
      group.ns.push_back(c.dur[row]);
      group.sent = sent;
    }
  }
  std::vector<CollectiveRate> out;
  for (auto& [key, group] : groups) {
    auto& row = out.emplace_back();
    std::tie(row.device, row.name, row.data_type, row.bytes, row.ranks) = key;
    std::ranges::sort(group.ns);
    row.count = group.ns.size();
    for (const auto ns : group.ns) row.total_ns += ns;
    row.min_ns = group.ns.front();
    row.gb_s = group.sent / static_cast<double>(group.ns[group.ns.size() / 2]);
    row.best_gb_s = group.sent / static_cast<double>(row.min_ns);
    const auto link = link_of(t, row.device, row.ranks);
    if (link > 0) {
      row.link_gb_s = link;
      row.efficiency = row.best_gb_s / link;
    }
  }
  judge(out);
  std::ranges::stable_sort(out, std::greater(), &CollectiveRate::total_ns);
  return out;
}

}  // namespace tta::pipeline

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
#include "timeline/median.h"
#include "trace/args.h"

namespace tta::pipeline {
namespace {

// NCCL's own tests reach their plateau from about 16 MiB on; under 1 MiB a collective
// is mostly latency.
constexpr std::int64_t kLarge = 16 << 20, kSmall = 1 << 20;
// All-reduce reaches 230 to 240 of 300 GB/s on A100 and 360 of 450 on H100 (NCCL
// tests): what never exceeds 30 % is not set up as it could be.
constexpr double kSetUp = 0.3, kConstant = 0.8;
// The usual one takes twice as long as the best: the rest is waiting.
constexpr double kWaiting = 0.5;

// Whether all ranks are those of one machine, which count on from each other; false if
// the trace does not have them.
bool in_machine(const timeline::CollectiveArgs& known, std::size_t devices) {
  const auto per_machine = static_cast<std::int64_t>(devices);
  std::int64_t machine = -1;
  bool same = per_machine > 1;
  std::int64_t count = 0;
  trace::for_each_element(known.ranks, [&](std::string_view element) {
    const auto rank = trace::as_int(element).value_or(-1);
    if (rank < 0 || per_machine < 1) {
      same = false;
      return;
    }
    same = same && (count++ == 0 || rank / per_machine == machine);
    machine = rank / per_machine;
  });
  return same && count == known.group_size;
}

// Of the link between devices of one machine; 0: unknown.
double link_of(const timeline::Timeline& t, std::int32_t device) {
  const auto* properties = t.properties_of(device);
  if (properties == nullptr) return 0;
  return std::max(0.0, timeline::peer_link_gb_s(properties->name));
}

void judge(std::vector<CollectiveRate>& rows) {
  for (auto& row : rows) {
    const bool constant = row.count >= 3 && row.gb_s >= kConstant * row.best_gb_s;
    if (row.bytes < kSmall) {
      row.reason = "latency";
    } else if (constant && row.bytes >= kLarge && row.efficiency.value_or(1) < kSetUp) {
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
    bool in_machine = true;
  };
  std::map<Key, Group> groups;
  for (const auto& d : t.devices) {
    for (const auto row : d.rows) {
      if (!t.is_communication(row) || c.dur[row] <= 0) continue;
      const auto* known = patterns::collective_of(t, args, row);
      if (known == nullptr) continue;
      const auto sent = patterns::bytes_sent(*known);
      // No job and no message is as large as that: the args are damaged.
      if (!(sent > 0) || sent > 1e14 || known->group_size > (1 << 24)) continue;
      auto& group = groups[{d.number, known->name, known->dtype, known->bytes(),
                            known->group_size}];
      group.ns.push_back(c.dur[row]);
      group.sent = sent;
      group.in_machine = group.in_machine && in_machine(*known, t.properties.size());
    }
  }
  std::vector<CollectiveRate> out;
  for (auto& [key, group] : groups) {
    auto& row = out.emplace_back();
    std::tie(row.device, row.name, row.data_type, row.bytes, row.ranks) = key;
    row.count = group.ns.size();
    for (const auto ns : group.ns) row.total_ns += ns;
    row.min_ns = std::ranges::min(group.ns);
    row.gb_s = group.sent / static_cast<double>(timeline::upper_median(group.ns));
    row.best_gb_s = group.sent / static_cast<double>(row.min_ns);
    const auto link = group.in_machine ? link_of(t, row.device) : 0;
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

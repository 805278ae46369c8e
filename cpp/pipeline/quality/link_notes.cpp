// SPDX-License-Identifier: BSD-3-Clause
// pipeline/quality/link_notes.cpp: how device work was tied to its launches, and how
// well the two clocks agree.
#include <algorithm>
#include <map>
#include <vector>

#include "patterns/rule.h"
#include "pipeline/quality/signs.h"

namespace tta::pipeline {

void find_clock_skew(const timeline::Timeline& t, Quality& q) {
  if (t.links.skewed == 0) return;
  const auto& c = t.columns();
  std::vector<std::int64_t> skews;
  for (const auto& d : t.devices) {
    for (const auto row : d.rows) {
      const auto launch = t.links.launch[row];
      if (launch != timeline::kNoRow && c.ts[row] < c.ts[launch]) {
        skews.push_back(c.ts[launch] - c.ts[row]);
      }
    }
  }
  if (skews.empty()) return;
  std::sort(skews.begin(), skews.end());
  const auto beyond =
      skews.end() - std::upper_bound(skews.begin(), skews.end(), timeline::kClockSkew);
  const bool grave =
      share(static_cast<std::uint64_t>(beyond), t.links.linked) >= kLostShare;
  auto text = of(skews.size(), t.links.linked) +
              " linked device events start before their launch does, by " +
              patterns::duration_text(skews[skews.size() / 2]) + " (median) to " +
              patterns::duration_text(skews.back()) +
              ": the clocks of host and device differ.";
  if (grave) {
    text += " What the host did while the device was idle is uncertain by as much.";
  }
  add(q, grave ? Verdict::kDegraded : Verdict::kOk, "clock_skew", skews.size(), text);
}

void describe_links(const timeline::Timeline& t, Quality& q) {
  const auto& links = t.links;
  if (links.queued_before > 0) {
    add(q, Verdict::kOk, "queued_before", links.queued_before,
        std::to_string(links.queued_before) +
            " device events were launched before recording began.");
  }
  if (links.by_external_id > 0) {
    add(q, Verdict::kOk, "linked_by_external_id", links.by_external_id,
        of(links.by_external_id, links.device_rows) +
            " device events are linked to the host by External id: the trace has no "
            "correlation ids for them.");
  }
  if (links.without_id > 0) {
    add(q, Verdict::kOk, "work_without_id", links.without_id,
        of(links.without_id, links.device_rows) +
            " device events carry no id by which to find their launch: what led to "
            "them is unknown.");
  }
  for (const auto& d : t.devices) {
    if (d.foreign_share < kLostShare) continue;
    add(q, Verdict::kDegraded, "shared_device_number", 1,
        "Several processes launched work on device " + std::to_string(d.number) +
            ": either they share it, or the file numbers devices of different "
            "processes alike, and their times are mixed up. Analyze each process's "
            "own file, or merge them with pids that differ.");
  }
  std::map<std::int32_t, std::uint64_t> with;  // devices, by number
  for (const auto& d : t.devices) ++with[d.number];
  std::uint64_t alike = 0;
  for (const auto& [number, count] : with) alike += count > 1 ? count : 0;
  if (alike > 0) {
    add(q, Verdict::kOk, "merged_devices", alike,
        "The file holds devices of several processes under one number, as files merged "
        "from several ranks do: each has times of its own here, told apart by process. "
        "What two ranks say of each other rests on how well their clocks agree.");
  }
}

}  // namespace tta::pipeline

// SPDX-License-Identifier: BSD-3-Clause
// patterns/fix.cpp: claims as edits of the replay; computation that nothing overlaps
// yet, step by step.
#include "patterns/fix.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "patterns/ledger.h"
#include "patterns/warm_up.h"
#include "replay/fewer_launches.h"
#include "replay/host_collectives.h"

namespace tta::patterns {
namespace {

using replay::kNone;
using timeline::Interval;
using timeline::kNoLane;
using timeline::kNoRow;

class Fixer {
 public:
  explicit Fixer(const replay::Model& m) : m_(m), t_(*m.timeline), c_(t_.columns()) {}

  replay::Change run(Fix fix, std::span<const Claim> claims,
                     std::span<const Mark> sites, OverlapRoom& room) {
    const bool by_site = t_.host ? fix == Fix::kBatch : goes_by_site(fix);
    if (by_site) {
      for (const auto& site : sites) fix_site(fix, site);
    }
    std::vector<Claim> hideable;
    if (fix == Fix::kOverlap) claims = hideable = room.hideable(claims);
    // Work that sites name goes with them.
    const bool work = std::any_of(sites.begin(), sites.end(),
                                  [](auto& site) { return site.work != kNoRow; });
    if (work && !by_site) {
      for (const auto& site : sites) take_work(site);
    }
    std::map<std::uint32_t, std::vector<const Claim*>> proven;  // by evidence
    for (const auto& claim : claims) {
      if (!claim.idle && claim.device >= 0 && !work) shorten(claim);
      proven[claim.evidence].push_back(&claim);
    }
    if (!by_site) {
      for (const auto& [row, own] : proven) fix_one(fix, row, own);
    }
    return std::move(out_);
  }

 private:
  using Claims = std::vector<const Claim*>;

  static bool goes_by_site(Fix fix) {
    return fix == Fix::kHide || fix == Fix::kSkip || fix == Fix::kDropWaits ||
           fix == Fix::kPin || fix == Fix::kCapture || fix == Fix::kBatch ||
           fix == Fix::kBucket;
  }

  void fix_site(Fix fix, const Mark& site) {
    const auto lane = thread_of(site.row);
    const bool timed = site.time.length() > 0 && lane != kNoLane;
    take_work(site);
    switch (fix) {
      case Fix::kDropWaits:
      case Fix::kPin:
        if (lane != kNoLane) {
          const auto wait = timeline::wait_around(t_.waits, lane, c_.ts[site.row]);
          if (fix == Fix::kPin) {
            out_.pin(lane, wait);
          } else {
            out_.drop_waits(lane, wait);
          }
        }
        if (fix == Fix::kPin) break;
        [[fallthrough]];
      case Fix::kSkip:
        if (timed) out_.skip(lane, site.time);
        break;
      case Fix::kBucket:
        if (site.work != kNoRow) {
          out_.untie(site.work);
          if (site.work == site.row) out_.merge(site.work);
        }
        if (timed) out_.hide(lane, site.time);
        break;
      case Fix::kBatch:
        if (site.work != kNoRow) out_.merge(site.work);
        [[fallthrough]];
      default:
        if (timed) out_.hide(lane, site.time);
    }
  }

  // A share of the work, from its begin; all of it is not even launched.
  void take_work(const Mark& site) {
    if (site.work == kNoRow || site.share <= 0) return;
    if (site.share >= 1) return out_.drop(site.work);
    const auto begin = c_.ts[site.work];
    const auto length = static_cast<double>(c_.dur[site.work]) * site.share;
    out_.shorten(site.work, {begin, begin + static_cast<std::int64_t>(length)});
  }

  // What all claims that one event proves come to, beside the device's busy time.
  void fix_one(Fix fix, std::uint32_t row, const Claims& claims) {
    const auto lane = thread_of(row);
    const bool on_device = claims.front()->device >= 0;
    switch (fix) {
      case Fix::kSkip:
        if (!t_.lanes.on_stream(row) && lane != kNoLane) {
          out_.skip(lane, {c_.ts[row], t_.tree.end(c_, row)});
        }
        break;
      case Fix::kMultiTensor:
        if (!on_device || t_.lanes.on_stream(row)) break;
        replay::fuse(m_, lane, {c_.ts[row], t_.tree.end(c_, row)},
                     replay::Fusion::kSameName, out_);
        return;
      case Fix::kFuse:
        fuse(row, claims);
        break;
      case Fix::kOverlap:
        if (on_device || lane == kNoLane) break;
        for (const auto* claim : claims) untie(*claim, t_.lanes.lanes[lane].pid);
        return;
      default:
        break;
    }
    hide(lane, claims);
  }

  // The claimed time of the thread itself, or in which its device was idle.
  void hide(std::uint32_t lane, const Claims& claims) {
    if (lane == kNoLane) return;
    for (const auto* claim : claims) {
      if (claim->idle || claim->device < 0) {
        out_.hide(lane, {claim->begin, claim->end});
      }
    }
  }

  // A chain goes from the kernel that proves it to the last that time is claimed of.
  void fuse(std::uint32_t row, const Claims& claims) {
    const auto first = m_.tasks.of_row[row];
    if (first == kNone) return;
    const auto& all = m_.tasks.all;
    const auto end = m_.tasks.first[all[first].stream + 1];
    for (auto i = first + 1; i < end && all[i].begin <= claims.back()->begin; ++i) {
      if (all[i].call == kNone || all[i].kind != replay::TaskKind::kKernel) continue;
      if (replay::join(m_, all[i].call, out_)) out_.merge(all[i].row);
    }
  }

  // Lets the host's collectives that ran in the claimed time begin when they are ready.
  void untie(const Claim& claim, std::int64_t pid) {
    const auto process = [&](const replay::HostCollective& c) {
      return t_.host.index_of(c_.pid[c.row]);
    };
    const std::span<const replay::HostCollective> own =
        std::ranges::equal_range(m_.collectives, t_.host.index_of(pid), {}, process);
    const auto [from, to] = replay::around(own, {claim.begin, claim.end});
    for (const auto& c : own.subspan(from, to - from)) {
      if (c.end > claim.begin) out_.untie(c.row);
    }
  }

  // The thread of an event, or of the launch of device work.
  std::uint32_t thread_of(std::uint32_t row) const {
    if (t_.lanes.on_stream(row)) row = t_.launch_of(row);
    return row == kNoRow ? kNoLane : t_.lanes.lane[row];
  }

  // Shortens the device work that took the time: the event itself, if it is of a
  // device, else what started last before it.
  void shorten(const Claim& claim) {
    const Interval time{claim.begin, claim.end};
    const auto row = claim.evidence;
    if (t_.lanes.on_stream(row) &&
        timeline::intersect(time, {c_.ts[row], c_.end(row)}).length() > 0) {
      out_.shorten(row, time);
      return;
    }
    const auto device = index_of(t_, claim);
    if (device >= t_.devices.size()) return;
    const auto& rows = t_.devices[device].rows;
    auto it = std::upper_bound(
        rows.begin(), rows.end(), claim.begin,
        [&](std::int64_t when, std::uint32_t r) { return when < c_.ts[r]; });
    // Claims may go on into the next kernels of a chain.
    if (it != rows.begin()) --it;
    for (; it != rows.end() && c_.ts[*it] < claim.end; ++it) out_.shorten(*it, time);
  }

  const replay::Model& m_;
  const timeline::Timeline& t_;
  const trace::Columns& c_;
  replay::Change out_;
};

}  // namespace

replay::Change fix_of(const replay::Model& m, const PatternInfo& pattern,
                      std::span<const Claim> claims, std::span<const Mark> sites,
                      OverlapRoom& room) {
  return Fixer(m).run(pattern.fix, claims, sites, room);
}

std::vector<Claim> OverlapRoom::hideable(std::span<const Claim> claims) {
  std::vector<Claim> out;
  for (auto claim : claims) {
    const auto i = index_of(t_, claim);
    if (i < t_.devices.size()) {
      claim.end = claim.begin + take(device(i), claim.begin, claim.end - claim.begin);
    }
    if (claim.end > claim.begin) out.push_back(claim);
  }
  return out;
}

OverlapRoom::Device& OverlapRoom::device(std::size_t index) {
  const auto [it, is_new] = devices_.try_emplace(index);
  if (!is_new) return it->second;
  const auto& c = t_.columns();
  const auto& d = t_.devices[index];
  std::vector<Interval> computing, moving;
  for (const auto row : d.rows) {
    const bool moves = t_.is_communication(row) || t_.is_copy(row);
    (moves ? moving : computing).push_back({c.ts[row], c.end(row)});
  }
  it->second.bare = timeline::SumUntil(timeline::subtract(
      timeline::unite(std::move(computing)), timeline::unite(std::move(moving))));
  auto& begins = it->second.begins;
  begins.push_back(t_.span.begin);
  const auto steps = steps_by_process(t_);
  if (const auto own = steps.find(d.pid); own != steps.end()) {
    for (const auto& step : own->second) begins.push_back(step.begin);
  }
  std::sort(begins.begin(), begins.end());
  return it->second;
}

std::int64_t OverlapRoom::take(Device& of, std::int64_t when,
                               std::int64_t wanted) const {
  auto after = std::upper_bound(of.begins.begin(), of.begins.end(), when);
  if (after == of.begins.begin()) ++after;
  const auto from = *std::prev(after);
  const auto to = after == of.begins.end() ? t_.span.end : *after;
  const auto it = of.left.try_emplace(from, of.bare.in({from, to})).first;
  const auto taken = std::min(wanted, it->second);
  it->second -= taken;
  return taken;
}

}  // namespace tta::patterns

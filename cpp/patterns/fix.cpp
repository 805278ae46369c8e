// SPDX-License-Identifier: BSD-3-Clause
// patterns/fix.cpp: claims, told to the replay.
#include "patterns/fix.h"

#include <algorithm>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "patterns/ledger.h"
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

  replay::Change run(Fix fix, const Finding& finding, OverlapRoom& room) {
    const auto claims = fix == Fix::kOverlap ? room.hideable(finding) : finding.claims;
    std::map<std::uint32_t, std::vector<const Claim*>> proven;  // by evidence
    for (const auto& claim : claims) {
      if (!claim.idle && claim.device >= 0) shorten(claim);
      proven[claim.evidence].push_back(&claim);
    }
    for (const auto& [row, own] : proven) fix_one(fix, row, own);
    return std::move(out_);
  }

 private:
  using Claims = std::vector<const Claim*>;

  // What all claims that one event proves come to, beside the device's busy time.
  void fix_one(Fix fix, std::uint32_t row, const Claims& claims) {
    const auto lane = thread_of(row);
    const auto from = t_.lanes.on_stream(row) ? t_.launch_of(row) : row;
    const auto call = from == kNoRow ? kNone : m_.calls.of_row[from];
    const bool on_device = claims.front()->device >= 0;
    switch (fix) {
      case Fix::kHide:
        if (!t_.lanes.on_stream(row) && lane != kNoLane) {
          out_.skip(lane, {c_.ts[row], t_.tree.end(c_, row)});
        }
        break;
      case Fix::kDropWaits:
      case Fix::kPin:
        if (from != kNoRow) {
          out_.drop_waits(lane, timeline::wait_around(t_.waits, lane, c_.ts[from]));
        }
        return;
      case Fix::kCapture:
        if (on_device && call != kNone && capture(call, claims)) return;
        break;
      case Fix::kMultiTensor:
        if (!on_device || t_.lanes.on_stream(row)) break;
        replay::fuse(m_, lane, {c_.ts[row], t_.tree.end(c_, row)},
                     replay::Fusion::kSameName, out_);
        return;
      case Fix::kFuse:
        fuse(row, claims);
        break;
      case Fix::kBucket:
        if (t_.lanes.on_stream(row)) {
          replay::join_before(m_, row, out_);
        } else if (call != kNone) {
          replay::join(m_, call, out_);
        }
        break;
      case Fix::kOverlap:
        if (on_device || lane == kNoLane) break;
        for (const auto* claim : claims) untie(*claim, t_.lanes.lanes[lane].pid);
        return;
      case Fix::kShorten:
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

  // A late launch is one with the launch before it.
  bool capture(std::uint32_t call, const Claims& claims) {
    auto time = replay::since_launch_before(m_, call);
    if (!time) return false;
    const auto late = claims.front()->begin;
    if (late - time->begin > replay::kMostPause) time->begin = late;
    out_.hide(m_.calls.all[call].lane, *time);
    return true;
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

replay::Change fix_of(const replay::Model& m, const PatternTable& patterns,
                      const Finding& finding, OverlapRoom& room) {
  return Fixer(m).run(patterns[finding.pattern].fix, finding, room);
}

}  // namespace tta::patterns

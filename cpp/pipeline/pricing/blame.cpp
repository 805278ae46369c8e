// SPDX-License-Identifier: BSD-3-Clause
// pipeline/pricing/blame.cpp: what each replay leaves of each gap, and who answers for
// how much of it.
#include "pipeline/pricing/blame.h"

#include <algorithm>
#include <set>

#include "pipeline/pricing/causes.h"
#include "replay/device_clock.h"
#include "replay/two_threads.h"

namespace tta::pipeline {
namespace {

using patterns::Claim;
using patterns::PatternId;
using timeline::Interval;

class Blamer {
 public:
  Blamer(const patterns::Search& search, const replay::Pricer& pricer,
         patterns::Findings& found, const replay::Checkpoint& checkpoint)
      : search_(search),
        pricer_(pricer),
        m_(pricer.model()),
        t_(*m_.timeline),
        found_(found),
        checkpoint_(checkpoint) {}

  std::vector<PatternGain> run(const std::vector<timeline::Window>& windows) {
    causes_ = find_causes(pricer_, search_, found_, all_, checkpoint_);
    std::set<PatternId> free;
    for (const auto& cause : causes_) free.insert(cause.pattern);
    for (const auto& claim : found_.claims) {
      if (claim.idle && !free.contains(claim.pattern)) fixed_.push_back(claim);
    }
    pieces_ = cut_gaps(t_, found_.claims, free, windows);
    measure_all();
    drop_small();
    write();
    std::vector<PatternGain> out;
    for (auto& cause : causes_) {
      out.push_back({cause.pattern,
                     std::move(cause.change),
                     pricer_.gain(cause.fixed, {}),
                     std::vector<WindowBlame>(windows.size()),
                     {}});
    }
    find_shared(out);
    share_windows(windows, out);
    return out;
  }

 private:
  // What each schedule saves of each piece.
  void measure_all() {
    for (const auto& p : pieces_) {
      clocks_.emplace_back(m_, p.device);
      unchanged_.push_back(clocks_.back().at(pricer_.unchanged().times, p.bounds));
    }
    checkpoint_();
    replay::on_two_threads(causes_.size() + 1, [&](std::size_t i) {
      if (i == 0) {
        fixed_all_ = pricer_.replay(all_);
        measure(fixed_all_, together_);
      } else {
        measure(causes_[i - 1].fixed, causes_[i - 1].saved);
      }
    });
  }

  void measure(const replay::WhatIf& fixed,
               std::vector<std::vector<std::int64_t>>& saved) const {
    for (std::size_t d = 0; d < pieces_.size(); ++d) {
      const auto& bounds = pieces_[d].bounds;
      saved.push_back(
          saved_of(unchanged_[d], clocks_[d].at(fixed.times, bounds), bounds));
    }
  }

  // What each cause gets of a piece: by what it saves alone, together no more than all.
  void share_out(std::size_t d, std::size_t i, std::vector<std::int64_t>& out) const {
    std::int64_t sum = 0;
    for (const auto& cause : causes_) sum += cause.saved[d][i];
    out.assign(causes_.size(), 0);
    if (sum == 0) return;
    const auto share =
        std::min(1.0, static_cast<double>(together_[d][i]) / static_cast<double>(sum));
    for (std::size_t c = 0; c < causes_.size(); ++c) {
      out[c] = static_cast<std::int64_t>(static_cast<double>(causes_[c].saved[d][i]) *
                                         share);
    }
  }

  // Leaves out what amounts to nothing, until what is left does: its time goes to the
  // others then.
  void drop_small() {
    for (;;) {
      std::vector<std::int64_t> cost, got;
      for (const auto& cause : causes_) cost.push_back(cause.busy);
      for (std::size_t d = 0; d < pieces_.size(); ++d) {
        for (std::size_t i = 0; i < pieces_[d].all.size(); ++i) {
          share_out(d, i, got);
          for (std::size_t c = 0; c < got.size(); ++c) cost[c] += got[c];
        }
      }
      std::vector<Cause> left;
      for (std::size_t c = 0; c < causes_.size(); ++c) {
        // A pattern that shares its time with others may gain far more than its share;
        // one in which the rules alone saw nothing has to gain something.
        const auto gain = pricer_.unchanged().span - causes_[c].fixed.span;
        const auto devices = static_cast<std::int64_t>(t_.devices.size());
        if ((causes_[c].known || gain >= patterns::kMinCost) && cost[c] > 0 &&
            search_.counts(causes_[c].pattern, std::max(cost[c], gain * devices))) {
          left.push_back(std::move(causes_[c]));
        } else {
          dropped_.insert(causes_[c].pattern);
        }
      }
      const bool done = left.size() == causes_.size();
      causes_ = std::move(left);
      if (done) return;
    }
  }

  // Which causes save the same time.
  void find_shared(std::vector<PatternGain>& out) const {
    const auto n = causes_.size();
    std::vector<std::int64_t> both(n * n, 0);  // that goes with either
    for (std::size_t d = 0; d < pieces_.size(); ++d) {
      for (std::size_t i = 0; i < pieces_[d].all.size(); ++i) {
        for (std::size_t a = 0; a < n; ++a) {
          const auto saved = causes_[a].saved[d][i];
          if (saved == 0) continue;
          for (std::size_t b = 0; b < n; ++b) {
            both[a * n + b] += std::min(saved, causes_[b].saved[d][i]);
          }
        }
      }
    }
    for (std::size_t a = 0; a < n; ++a) {
      const auto* row = &both[a * n];
      std::vector<std::size_t> with;
      for (std::size_t b = 0; b < n; ++b) {
        const auto less = std::min(row[a], both[b * n + b]);  // what either saves
        if (b != a && row[b] > 0 && row[b] * 4 >= less) with.push_back(b);
      }
      std::stable_sort(with.begin(), with.end(),
                       [&](auto x, auto y) { return row[x] > row[y]; });
      for (const auto b : with) out[a].shares.push_back(causes_[b].pattern);
    }
  }

  // The same of whole windows, in which work goes as well.
  void share_windows(const std::vector<timeline::Window>& windows,
                     std::vector<PatternGain>& out) const {
    for (std::size_t d = 0; d < pieces_.size(); ++d) {
      const auto device = t_.devices[pieces_[d].device].device;
      const auto own = windows_of(windows, device);
      const auto first = static_cast<std::size_t>(own.data() - windows.data());
      std::vector<std::int64_t> bounds;
      for (const auto& w : own) {
        bounds.insert(bounds.end(), {w.begin_ns, w.end_ns});
      }
      const auto before = clocks_[d].at(pricer_.unchanged().times, bounds);
      const auto all =
          saved_of(before, clocks_[d].at(fixed_all_.times, bounds), bounds);
      std::vector<std::vector<std::int64_t>> alone;
      for (const auto& cause : causes_) {
        alone.push_back(
            saved_of(before, clocks_[d].at(cause.fixed.times, bounds), bounds));
      }
      for (std::size_t w = 0; w < own.size(); ++w) {
        std::int64_t sum = 0;
        for (const auto& saved : alone) sum += saved[w];
        if (sum == 0) continue;
        const auto share =
            std::min(1.0, static_cast<double>(all[w]) / static_cast<double>(sum));
        for (std::size_t c = 0; c < alone.size(); ++c) {
          const auto saved = alone[c][w];
          out[c].windows[first + w] = {
              static_cast<std::int64_t>(static_cast<double>(saved) * share), saved};
        }
      }
    }
  }

  // By how much stretches between pairs of bounds get shorter.
  static std::vector<std::int64_t> saved_of(const std::vector<std::int64_t>& before,
                                            const std::vector<std::int64_t>& after,
                                            const std::vector<std::int64_t>& bounds) {
    std::vector<std::int64_t> out;
    for (std::size_t i = 0; i < bounds.size(); i += 2) {
      const auto gone = (before[i + 1] - before[i]) - (after[i + 1] - after[i]);
      out.push_back(std::clamp<std::int64_t>(gone, 0, bounds[i + 1] - bounds[i]));
    }
    return out;
  }

  void write() {
    std::vector<Claim> claims = fixed_;
    for (const auto& claim : found_.claims) {
      if (!claim.idle && !dropped_.contains(claim.pattern)) claims.push_back(claim);
    }
    std::vector<std::int64_t> got;
    for (std::size_t d = 0; d < pieces_.size(); ++d) {
      for (std::size_t i = 0; i < pieces_[d].all.size(); ++i) {
        share_out(d, i, got);
        write_piece(t_.devices[d], pieces_[d].all[i], got, claims);
      }
    }
    found_.claims = std::move(claims);
    std::vector<std::vector<Interval>> taken(t_.devices.size());
    for (const auto& claim : found_.claims) {
      if (claim.idle) {
        taken[patterns::index_of(t_, claim)].push_back({claim.begin, claim.end});
      }
    }
    for (std::size_t d = 0; d < t_.devices.size(); ++d) {
      std::vector<Interval> gaps;
      for (const auto& gap : t_.devices[d].gaps) gaps.push_back(gap.time);
      found_.unclaimed[d] = timeline::subtract(timeline::unite(std::move(gaps)),
                                               timeline::unite(std::move(taken[d])));
    }
  }

  // Shares stand in the piece one after the other, as the table has their causes.
  void write_piece(const timeline::DeviceTime& d, const Piece& piece,
                   const std::vector<std::int64_t>& got,
                   std::vector<Claim>& out) const {
    auto at = piece.time.begin;
    for (std::size_t c = 0; c < causes_.size(); ++c) {
      if (got[c] == 0) continue;
      const auto [row, subtype] = evidence_of(t_, d, piece, causes_[c]);
      auto* last = out.empty() ? nullptr : &out.back();
      if (last != nullptr && last->idle && last->device == d.device &&
          last->end == at && last->pattern == causes_[c].pattern &&
          last->evidence == row && last->subtype == subtype) {
        last->end += got[c];
      } else {
        out.push_back(
            {causes_[c].pattern, subtype, true, d.device, at, at + got[c], row});
      }
      at += got[c];
    }
  }

  const patterns::Search& search_;
  const replay::Pricer& pricer_;
  const replay::Model& m_;
  const timeline::Timeline& t_;
  patterns::Findings& found_;
  const replay::Checkpoint& checkpoint_;
  std::vector<Cause> causes_;
  replay::Change all_;
  replay::WhatIf fixed_all_;
  std::vector<Claim> fixed_;  // idle time that stays whose it is
  std::vector<Pieces> pieces_;
  std::vector<replay::DeviceClock> clocks_;
  std::vector<std::vector<std::int64_t>> unchanged_, together_;
  std::set<PatternId> dropped_;
};

}  // namespace

bool too_many_clocks(const replay::Model& m) {
  std::set<std::pair<std::uint32_t, std::int32_t>> feeds;  // lane, device
  for (const auto& task : m.tasks.all) {
    if (task.call == replay::kNone) continue;
    const auto stream = m.tasks.streams[task.stream];
    feeds.emplace(m.calls.all[task.call].lane, m.timeline->lanes.lanes[stream].device);
  }
  std::size_t points = 0;
  for (const auto& [lane, device] : feeds) points += m.sequences[lane].size();
  constexpr std::size_t kMostDevices = 64;  // of one thread, as timeline/windows.cpp
  return points > kMostDevices * m.points.size();
}

std::vector<PatternGain> blame(const patterns::Search& search,
                               const replay::Pricer& pricer,
                               const std::vector<timeline::Window>& windows,
                               patterns::Findings& found,
                               const replay::Checkpoint& checkpoint) {
  if (too_many_clocks(pricer.model())) return {};
  return Blamer(search, pricer, found, checkpoint).run(windows);
}

}  // namespace tta::pipeline

// SPDX-License-Identifier: BSD-3-Clause
// pipeline/blame.cpp: one replay a pattern, and what it leaves of each gap.
#include "pipeline/blame.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "patterns/fix.h"
#include "patterns/marks.h"
#include "replay/device_clock.h"

namespace tta::pipeline {
namespace {

using patterns::Claim;
using patterns::Mark;
using patterns::PatternId;
using timeline::Interval;
using timeline::kNoRow;

/// A part of a gap in which one event at most was blamed before.
struct Piece {
  Interval time;
  std::uint32_t next = kNoRow;    // the work that ended the gap
  const Claim* before = nullptr;  // who had it, by the rules alone
};

/// The gaps of a device.
struct Pieces {
  std::size_t device = 0;
  std::vector<Piece> all;
  std::vector<std::int64_t> bounds;  // of each piece its begin and end
};

/// One pattern, fixed everywhere.
struct Cause {
  PatternId pattern{};
  std::vector<Mark> sites;  // that may be blamed, by begin
  std::vector<std::int64_t> begins;
  replay::Change change;
  replay::WhatIf fixed;
  std::vector<std::vector<std::int64_t>> saved;  // of each piece, by device
  std::int64_t busy = 0;                         // busy time that it claims
  bool known = false;                            // it claims some by the rules alone
};

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
    find_causes();
    cut(windows);
    for (auto& cause : causes_) measure(cause.fixed, cause.saved);
    measure_all();
    drop_small();
    write();
    std::vector<PatternGain> out;
    for (auto& cause : causes_) {
      out.push_back({cause.pattern,
                     std::move(cause.change),
                     pricer_.gain(cause.fixed),
                     std::vector<WindowBlame>(windows.size()),
                     {}});
    }
    find_shared(out);
    share_windows(windows, out);
    return out;
  }

 private:
  bool built_in(PatternId pattern) const {
    return static_cast<std::size_t>(pattern) < patterns::patterns().size();
  }

  void find_causes() {
    std::map<PatternId, std::vector<Claim>> claims;
    for (const auto& claim : found_.claims) claims[claim.pattern].push_back(claim);
    patterns::OverlapRoom shared(t_);  // of all of them together
    for (const auto& pattern : patterns::patterns()) {
      const auto id = pattern.id;
      const auto& sites = found_.sites[static_cast<std::size_t>(id)];
      const auto& own = claims[id];
      if (!pattern.user_finding || !search_.enabled(id) ||
          (sites.empty() && own.empty())) {
        continue;
      }
      checkpoint_();
      patterns::OverlapRoom alone(t_);
      Cause cause;
      cause.pattern = id;
      cause.change = patterns::fix_of(m_, pattern, own, sites, alone);
      if (cause.change.empty()) continue;
      cause.fixed = pricer_.replay(cause.change);
      if (pricer_.longer_step(cause.fixed)) continue;
      cause.known = !own.empty();

      for (const auto& claim : own) {
        if (!claim.idle) cause.busy += claim.end - claim.begin;
      }
      for (const auto& site : sites) {
        if (site.time.length() > 0 || site.work != kNoRow) cause.sites.push_back(site);
      }
      if (cause.sites.empty()) cause.sites = sites;
      std::stable_sort(cause.sites.begin(), cause.sites.end(), [&](auto& a, auto& b) {
        return patterns::begin_of(t_, a) < patterns::begin_of(t_, b);
      });
      for (const auto& site : cause.sites) {
        cause.begins.push_back(patterns::begin_of(t_, site));
      }
      all_.add(pattern.fix == patterns::Fix::kOverlap
                   ? patterns::fix_of(m_, pattern, own, sites, shared)
                   : cause.change);
      causes_.push_back(std::move(cause));
    }
  }

  // Gaps without what is fixed, cut where windows and steps begin and end, and where
  // the rules saw one cause give way to another.
  void cut(const std::vector<timeline::Window>& windows) {
    std::set<PatternId> free;
    for (const auto& cause : causes_) free.insert(cause.pattern);
    std::vector<std::vector<const Claim*>> idle(t_.devices.size());
    for (const auto& claim : found_.claims) {
      if (!claim.idle) continue;
      idle[patterns::index_of(t_, claim)].push_back(&claim);
      if (!free.contains(claim.pattern)) fixed_.push_back(claim);
    }
    for (std::size_t i = 0; i < t_.devices.size(); ++i) {
      const auto& d = t_.devices[i];
      auto& claims = idle[i];
      std::sort(claims.begin(), claims.end(),
                [](auto* a, auto* b) { return a->begin < b->begin; });
      std::vector<std::int64_t> at;
      std::vector<Interval> kept;
      for (const auto* claim : claims) {
        at.insert(at.end(), {claim->begin, claim->end});
        if (!free.contains(claim->pattern)) kept.push_back({claim->begin, claim->end});
      }
      for (const auto& w : windows) {
        if (w.device == d.device) at.push_back(w.end_ns);
      }
      for (const auto& s : t_.spans.steps) at.insert(at.end(), {s.begin, s.end});
      std::sort(at.begin(), at.end());
      pieces_.push_back(cut_one(i, at, timeline::unite(std::move(kept)), claims));
    }
  }

  Pieces cut_one(std::size_t i, const std::vector<std::int64_t>& at,
                 const timeline::IntervalSet& kept,
                 const std::vector<const Claim*>& claims) const {
    Pieces out{i, {}, {}};
    auto claim = claims.begin();
    for (const auto& gap : t_.devices[i].gaps) {
      for (const auto& part :
           timeline::subtract({gap.time}, timeline::clip(kept, gap.time))) {
        auto from = part.begin;
        auto next = std::upper_bound(at.begin(), at.end(), from);
        while (from < part.end) {
          while (next != at.end() && *next <= from) ++next;
          const auto to = next == at.end() ? part.end : std::min(part.end, *next);
          while (claim != claims.end() && (*claim)->end <= from) ++claim;
          const bool had = claim != claims.end() && (*claim)->begin <= from;
          out.all.push_back({{from, to}, gap.next, had ? *claim : nullptr});
          out.bounds.insert(out.bounds.end(), {from, to});
          from = to;
        }
      }
    }
    return out;
  }

  // What a schedule saves of each piece.
  void measure(const replay::WhatIf& fixed,
               std::vector<std::vector<std::int64_t>>& saved) {
    if (clocks_.empty()) {
      for (const auto& p : pieces_) {
        clocks_.emplace_back(m_, p.device);
        unchanged_.push_back(clocks_.back().at(pricer_.unchanged().times, p.bounds));
      }
    }
    for (std::size_t d = 0; d < pieces_.size(); ++d) {
      const auto& bounds = pieces_[d].bounds;
      saved.push_back(
          saved_of(unchanged_[d], clocks_[d].at(fixed.times, bounds), bounds));
    }
  }

  void measure_all() {
    checkpoint_();
    fixed_all_ = pricer_.replay(all_);
    measure(fixed_all_, together_);
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
        // What shares its time with others may gain far more than it is given; what
        // the rules alone saw nothing in has to gain something.
        const auto gain = pricer_.gain(causes_[c].fixed).high;
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
        if (b != a && row[b] > 0 && row[b] * 4 >= row[a]) with.push_back(b);
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
      std::vector<std::size_t> own;
      std::vector<std::int64_t> bounds;
      for (std::size_t i = 0; i < windows.size(); ++i) {
        if (windows[i].device != device) continue;
        own.push_back(i);
        bounds.insert(bounds.end(), {windows[i].begin_ns, windows[i].end_ns});
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
          out[c].windows[own[w]] = {
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
      const auto [row, subtype] = evidence(d, piece, causes_[c]);
      auto* last = out.empty() ? nullptr : &out.back();
      if (last != nullptr && last->idle && last->device == d.device &&
          last->end == at && last->pattern == causes_[c].pattern &&
          last->evidence == row) {
        last->end += got[c];
      } else {
        out.push_back(
            {causes_[c].pattern, subtype, true, d.device, at, at + got[c], row});
      }
      at += got[c];
    }
  }

  // Who was blamed before; else what the host did for most of the piece; else what came
  // last before its end. Of many launches the last is as good as any other: the longest
  // of some stands for them.
  std::pair<std::uint32_t, std::uint8_t> evidence(const timeline::DeviceTime& d,
                                                  const Piece& piece,
                                                  const Cause& cause) const {
    if (piece.before != nullptr && piece.before->pattern == cause.pattern) {
      return {piece.before->evidence, piece.before->subtype};
    }
    constexpr std::size_t kLookedAt = 256;
    const auto& sites = cause.sites;
    const bool launches = patterns::info(cause.pattern).fix == patterns::Fix::kCapture;
    const auto after = static_cast<std::size_t>(
        std::lower_bound(cause.begins.begin(), cause.begins.end(), piece.time.end) -
        cause.begins.begin());
    const Mark *meanwhile = nullptr, *before = nullptr;
    const auto first = after - std::min(after, kLookedAt);
    for (auto i = after; i-- > first;) {
      const auto& site = sites[i];
      if (d.pid != trace::kNoId &&
          t_.columns().pid[patterns::host_row(t_, site)] != d.pid) {
        continue;
      }
      const auto inside = timeline::intersect(site.time, piece.time).length();
      if (2 * inside > piece.time.length()) meanwhile = &site;
      if (before == nullptr ||
          (launches && site.time.length() > before->time.length())) {
        before = &site;
      }
      if (meanwhile != nullptr || !launches) break;
    }
    if (meanwhile == nullptr) meanwhile = before;
    if (meanwhile == nullptr) meanwhile = &sites[std::min(after, sites.size() - 1)];
    return {meanwhile->evidence(), meanwhile->subtype};
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

std::vector<PatternGain> blame(const patterns::Search& search,
                               const replay::Pricer& pricer,
                               const std::vector<timeline::Window>& windows,
                               patterns::Findings& found,
                               const replay::Checkpoint& checkpoint) {
  return Blamer(search, pricer, found, checkpoint).run(windows);
}

}  // namespace tta::pipeline

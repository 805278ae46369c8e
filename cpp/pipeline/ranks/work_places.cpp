// SPDX-License-Identifier: BSD-3-Clause
// pipeline/ranks/work_places.cpp: charges paths to events, and events to lines.
#include "pipeline/ranks/work_places.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "timeline/frames.h"

namespace tta::pipeline {
namespace {

using replay::WorkPart;
using timeline::Interval;
using timeline::kNoRow;
using Charges = std::vector<PathCharges::Charge>;

constexpr std::size_t kMostParts = 32;
constexpr std::size_t kMostClaims = 256;  // looked at for one event

// What of a path's edges passed in recorded time: no more than each edge takes, for
// what is longer in the recording was waiting for something else.
std::vector<PathCharges::Piece> pieces_of(const replay::Model& m,
                                          const replay::Passage& passage) {
  std::vector<PathCharges::Piece> out;
  auto covered = std::numeric_limits<std::int64_t>::max();
  for (auto e = passage.edges.rbegin(); e != passage.edges.rend(); ++e) {
    const auto& edge = m.graph.edges()[*e];
    const auto end = std::min(covered, m.points[edge.to].recorded);
    const auto begin = std::max(m.points[edge.from].recorded,
                                end - std::max<std::int64_t>(0, edge.weight));
    if (begin < end) out.push_back({*e, {begin, end}});
    covered = std::min(end, std::max(begin, m.points[edge.from].recorded));
  }
  return out;
}

const char* kind_of(const timeline::Timeline& t, std::uint32_t row) {
  const auto& c = t.columns();
  const auto lane = t.lanes.lane[row];
  if (lane != timeline::kNoLane && t.lanes.lanes[lane].is_stream) {
    if (t.is_communication(row)) return "communication";
    return t.is_kernel(row) ? "compute" : "copies";
  }
  if (c.cat_info(row).runtime_api) return "runtime_calls";
  return replay::is_backend_range(t.trace->name(row)) ? "communication" : "host";
}

// Which finding claims most of an event's time, if any claims half of what counts.
class Claimed {
 public:
  explicit Claimed(const Report& report) {
    for (std::size_t i = 0; i < report.findings.size(); ++i) {
      for (const auto& claim : report.findings[i].claims) {
        all_.push_back({{claim.begin, claim.end}, static_cast<std::int32_t>(i)});
      }
    }
    std::ranges::stable_sort(all_, {}, [](const One& one) { return one.time.begin; });
    auto latest = std::numeric_limits<std::int64_t>::min();
    for (auto& one : all_) latest = one.until = std::max(latest, one.time.end);
  }

  std::int32_t of(Interval time, std::int64_t counts) const {
    std::map<std::int32_t, std::int64_t> claimed;
    auto one = std::ranges::lower_bound(all_, time.begin + 1, {}, &One::until);
    for (std::size_t n = 0; one != all_.end() && n < kMostClaims; ++one, ++n) {
      if (one->time.begin >= time.end) break;
      claimed[one->finding] += timeline::intersect(one->time, time).length();
    }
    std::int32_t out = -1;
    auto most = (std::min(counts, time.length()) + 1) / 2;
    for (const auto& [finding, ns] : claimed) {
      if (ns < most) continue;
      most = ns;
      out = finding;
    }
    return out;
  }

 private:
  struct One {
    Interval time;
    std::int32_t finding;
    std::int64_t until = 0;  // the latest end up to here
  };
  std::vector<One> all_;
};

}  // namespace

void write_passages(const Report& report, const replay::Model& m,
                    const replay::Condensed& condensed, replay::RankWork& out) {
  const auto& t = *report.timeline;
  PathCharges charges(m);
  std::vector<Charges> of_passage;
  std::vector<std::uint32_t> rows;
  for (const auto& passage : condensed.passages) {
    of_passage.push_back(charges.of(pieces_of(m, passage)));
    for (const auto& charge : of_passage.back()) rows.push_back(charge.row);
  }
  std::ranges::sort(rows);
  rows.erase(std::ranges::unique(rows).begin(), rows.end());
  // All lines at once: to find them may take a pass over the file.
  const auto frames = timeline::shared_user_frames(t, rows);
  const Claimed claimed(report);

  using Key =
      std::tuple<std::string_view, std::uint32_t, std::string_view, std::int32_t>;
  std::map<Key, std::uint32_t> known;
  const auto place_of = [&](const PathCharges::Charge& charge) {
    const auto at = std::ranges::lower_bound(rows, charge.row) - rows.begin();
    const auto frame = frames.of[static_cast<std::size_t>(at)];
    const auto owner = t.owner_of(charge.row);
    const auto named = owner == kNoRow ? charge.row : owner;
    const auto name = frame == kNoRow ? t.trace->name(named) : std::string_view();
    const auto& c = t.columns();
    const auto finding =
        claimed.of({c.ts[charge.row], t.tree.end(c, charge.row)}, charge.ns);
    const Key key{kind_of(t, charge.row), frame, name, finding};
    const auto [it, added] =
        known.try_emplace(key, static_cast<std::uint32_t>(out.places.size()));
    if (added) {
      out.places.push_back(
          {std::string(std::get<0>(key)), {}, std::string(name), finding});
      if (frame != kNoRow) out.places.back().frame = frames.frames[frame];
    }
    return it->second;
  };
  for (std::size_t i = 0; i < condensed.passages.size(); ++i) {
    const auto& passage = condensed.passages[i];
    std::map<std::uint32_t, std::int64_t> by_place;
    for (const auto& charge : of_passage[i]) by_place[place_of(charge)] += charge.ns;
    std::vector<WorkPart> parts;
    for (const auto& [place, ns] : by_place) parts.push_back({place, ns});
    std::ranges::stable_sort(parts, std::ranges::greater(), &WorkPart::ns);
    if (parts.size() > kMostParts) parts.resize(kMostParts);
    const auto first = static_cast<std::uint32_t>(out.parts.size());
    out.parts.insert(out.parts.end(), parts.begin(), parts.end());
    out.passages.push_back({passage.from, passage.to, passage.ns, first,
                            static_cast<std::uint32_t>(out.parts.size())});
  }
}

}  // namespace tta::pipeline

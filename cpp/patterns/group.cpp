// SPDX-License-Identifier: BSD-3-Clause
// patterns/group.cpp: from claims to findings.
#include "patterns/group.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace tta::patterns {
namespace {

constexpr std::size_t kMaxPlaces = 10;  // findings of one pattern, before "elsewhere"
constexpr std::size_t kMaxEvents = 8;   // evidence listed for a finding

// A launch-bound stretch goes through many operators; naming one would mislead.
bool has_operator(PatternId pattern) {
  return pattern != PatternId::kLaunchBound && pattern != PatternId::kMissedCudaGraph &&
         pattern != PatternId::kHostBoundPython && pattern != PatternId::kStepOutlier;
}

// Without a source line, the record_function range (but a step) around an event tells
// at least which phase of the program it was.
std::string phase_of(const timeline::Timeline& t, std::uint32_t row) {
  const auto& c = t.columns();
  for (int depth = 0; row != kNoRow && depth < timeline::kMaxDepth;
       row = t.tree.parent[row], ++depth) {
    if (c.cat(row) != trace::Category::kUserAnnotation) continue;
    if (t.trace->name(row).starts_with("ProfilerStep#")) continue;
    return std::string(t.trace->name(row));
  }
  return "";
}

struct Place {
  std::uint8_t subtype = 0;
  std::string file;
  std::int64_t line = -1;
  std::string function;
  std::string operator_name;
  auto operator<=>(const Place&) const = default;
};

void add(Finding& f, const Claim& claim) {
  const auto length = claim.end - claim.begin;
  f.wasted_ns += length;
  if (claim.idle) f.idle_ns += length;
  f.claims.push_back(claim);
}

// Fills what follows from the claims: count, evidence, the costliest operator.
void finish(const timeline::Timeline& t, Finding& f) {
  std::map<std::uint32_t, std::int64_t> cost;
  for (const auto& claim : f.claims) cost[claim.evidence] += claim.end - claim.begin;
  f.count = cost.size();
  std::vector<std::pair<std::int64_t, std::uint32_t>> order;
  for (const auto& [row, ns] : cost) order.emplace_back(-ns, row);
  const auto listed = std::min(order.size(), kMaxEvents);
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(listed),
                    order.end());
  for (std::size_t i = 0; i < listed; ++i) f.events.push_back(order[i].second);
  std::stable_sort(f.claims.begin(), f.claims.end(),
                   [](const Claim& a, const Claim& b) {
                     return std::tie(a.device, a.begin) < std::tie(b.device, b.begin);
                   });
  const auto span = static_cast<double>(t.span.length()) *
                    static_cast<double>(std::max<std::size_t>(1, t.devices.size()));
  const auto share = static_cast<double>(f.wasted_ns) / span;
  f.severity = share >= 0.10   ? Severity::kHigh
               : share >= 0.03 ? Severity::kMedium
                               : Severity::kLow;
}

}  // namespace

SourceLines::SourceLines(const timeline::Timeline& t, const PatternTable& patterns,
                         const std::vector<Claim>& claims) {
  for (const auto& claim : claims) {
    if (patterns[claim.pattern].user_finding) rows_.push_back(claim.evidence);
  }
  std::sort(rows_.begin(), rows_.end());
  rows_.erase(std::unique(rows_.begin(), rows_.end()), rows_.end());
  frames_ = timeline::user_frames(t, rows_);
}

const std::optional<timeline::Frame>& SourceLines::of(std::uint32_t row) const {
  const auto at = std::lower_bound(rows_.begin(), rows_.end(), row);
  return frames_[static_cast<std::size_t>(at - rows_.begin())];
}

std::vector<Finding> group(const Context& context, PatternId pattern,
                           const Wording& wording, std::span<const Claim> claims,
                           const SourceLines& lines) {
  const auto& t = context.timeline;
  std::map<Place, Finding> places;
  for (const auto& claim : claims) {
    const auto& frame = lines.of(claim.evidence);
    Place place{claim.subtype, "", -1, "", ""};
    if (frame) {
      place.file = frame->file;
      place.line = frame->line;
      place.function = frame->function;
    }
    if (has_operator(pattern)) {
      const auto owner = t.owner_of(claim.evidence);
      if (owner != kNoRow) place.operator_name = t.trace->name(owner);
    } else if (!frame) {
      place.operator_name = phase_of(t, claim.evidence);
    }
    auto& finding = places[place];
    finding.pattern = pattern;
    finding.subtype = claim.subtype;
    finding.location = frame;
    finding.operator_name = place.operator_name;
    add(finding, claim);
  }

  std::vector<Finding> out;
  for (auto& [place, finding] : places) out.push_back(std::move(finding));
  const auto costlier = [](const Finding& a, const Finding& b) {
    return a.wasted_ns > b.wasted_ns;
  };
  std::stable_sort(out.begin(), out.end(), costlier);
  // Keep the costly places, gather the rest, one finding a sub-type.
  std::map<std::uint8_t, Finding> elsewhere;
  std::vector<Finding> kept;
  for (auto& finding : out) {
    if (kept.size() < kMaxPlaces && finding.wasted_ns >= kMinCost) {
      kept.push_back(std::move(finding));
      continue;
    }
    auto& rest = elsewhere[finding.subtype];
    rest.pattern = finding.pattern;
    rest.subtype = finding.subtype;
    for (const auto& claim : finding.claims) add(rest, claim);
  }
  // What is left is listed only if it amounts to something; it stays in the balance.
  for (auto& [subtype, rest] : elsewhere) {
    if (rest.wasted_ns >= kMinCost) kept.push_back(std::move(rest));
  }
  for (auto& finding : kept) {
    finish(t, finding);
    finding.message = wording.describe(context, finding);
    finding.advice =
        wording.advise ? wording.advise(context, finding) : std::string(wording.advice);
  }
  return kept;
}

}  // namespace tta::patterns

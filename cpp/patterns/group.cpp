// SPDX-License-Identifier: BSD-3-Clause
// patterns/group.cpp: from claims to findings.
#include "patterns/group.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "patterns/frame_costs.h"
#include "patterns/marks.h"
#include "timeline/captured.h"

namespace tta::patterns {
namespace {

constexpr std::size_t kMaxPlaces = 10;  // findings of one pattern, before "elsewhere"
constexpr std::size_t kMaxEvents = 8;   // evidence listed for a finding
constexpr std::size_t kMaxCalls = 16;   // named for one; those of a line are few

// A launch-bound stretch goes through many operators; naming one would mislead.
bool has_operator(PatternId pattern) {
  return pattern != PatternId::kLaunchBound && pattern != PatternId::kMissedCudaGraph &&
         pattern != PatternId::kHostBoundPython && pattern != PatternId::kStepOutlier;
}

// Without a source line, the record_function range (but a step) around an event tells
// at least which phase of the program it was. Around, as a range may be what ends a
// pause. `own`: only ranges of the program's own,
// none that torch put around each call of a backend.
std::uint32_t phase_of(const timeline::Timeline& t, std::uint32_t row,
                       bool own = false) {
  const auto phase = t.tree.innermost(t.tree.parent[row], [&](auto at) {
    return t.columns().cat(at) == trace::Category::kUserAnnotation &&
           !t.trace->name(at).starts_with("ProfilerStep#") &&
           !(own && (t.named(at, Name::kDeviceBackend) || t.named(at, Name::kBackend)));
  });
  return phase == kNoRow || t.trace->name(phase).empty() ? kNoRow : phase;
}

// What tells most of where an operator was called: its row, or that of what called it.
// Every collective is a record_param_comms, and every copy an aten::copy_.
std::uint32_t operator_of(const timeline::Timeline& t, std::uint32_t owner,
                          bool has_line) {
  const auto name = t.trace->name(owner);
  if (name == "aten::copy_" && !has_line) {
    const auto phase = phase_of(t, owner, true);
    return phase == kNoRow ? owner : phase;
  }
  if (name != "record_param_comms") return owner;
  const auto call = t.tree.innermost(t.tree.parent[owner], [&](auto at) {
    return t.columns().cat(at) == trace::Category::kCpuOp &&
           t.named(at, Name::kCollectiveCall);
  });
  if (call != kNoRow) return call;
  for (const bool own : {true, false}) {
    if (const auto phase = phase_of(t, owner, own); phase != kNoRow) return phase;
  }
  return owner;
}

struct Place {
  std::uint8_t subtype = 0;
  std::string file;
  std::int64_t line = -1;
  std::string function;
  std::string operator_name;
  auto operator<=>(const Place&) const = default;
};

// The same without a text: of frames and of operators their numbers.
struct Key {
  std::uint32_t frame, name;
  std::uint8_t subtype;
  bool operator==(const Key&) const = default;
};
struct Hash {
  std::size_t operator()(const Key& key) const {
    const auto both = std::uint64_t{key.frame} << 32 | key.name;
    return std::hash<std::uint64_t>()(both * 0x9e3779b97f4a7c15u + key.subtype);
  }
};

void add(Finding& f, const Claim& claim) {
  const auto length = claim.end - claim.begin;
  f.wasted_ns += length;
  if (claim.idle) f.idle_ns += length;
  f.claims.push_back(claim);
}

// Adds up what each event proves. All findings share one table of all rows, and touch
// only their own.
class CostOfRows {
 public:
  explicit CostOfRows(std::size_t rows) : place_(rows, kNoRow) {}

  /// The sum of each row that is evidence, negative so that the costliest sorts first.
  std::vector<std::pair<std::int64_t, std::uint32_t>> of(
      const std::vector<Claim>& claims) {
    std::vector<std::pair<std::int64_t, std::uint32_t>> out;
    for (const auto& claim : claims) {
      auto& place = place_[claim.evidence];
      if (place == kNoRow) {
        place = static_cast<std::uint32_t>(out.size());
        out.emplace_back(0, claim.evidence);
      }
      out[place].first -= claim.end - claim.begin;
    }
    for (const auto& [ns, row] : out) place_[row] = kNoRow;
    return out;
  }

 private:
  std::vector<std::uint32_t> place_;
};

// What the finding's frame was calling, the costliest first.
std::vector<CallCost> calls_of(const Finding& f, const SourceLines& lines) {
  if (!f.location || f.location->line_of == timeline::LineOf::kCall) return {};
  std::unordered_map<std::uint32_t, std::int64_t> costs;
  for (const auto& claim : f.claims) {
    costs[lines.calls(claim.evidence)] += claim.end - claim.begin;
  }
  std::vector<CallCost> out;
  for (const auto& [calls, ns] : costs) out.push_back({lines.names(calls), ns});
  std::sort(out.begin(), out.end(), [](const CallCost& a, const CallCost& b) {
    return std::tie(b.ns, a.names) < std::tie(a.ns, b.names);
  });
  out.resize(std::min(out.size(), kMaxCalls));
  return out;
}

// Fills what follows from the claims: count, evidence, the costliest operator.
void finish(const timeline::Timeline& t, CostOfRows& costs, Finding& f) {
  auto order = costs.of(f.claims);
  f.count = order.size();
  std::set<std::int64_t> pids;
  for (const auto& claim : f.claims) {
    const auto index = index_of(t, claim);
    pids.insert(t.host ? t.host[index].pid : t.devices[index].pid);
  }
  pids.erase(trace::kNoId);
  f.pids.assign(pids.begin(), pids.end());
  // Own rules have numbers beyond the table: what they ask for is taken as it is.
  f.estimate = static_cast<std::size_t>(f.pattern) < patterns().size() &&
               info(f.pattern).estimate && f.idle_ns * 2 < f.wasted_ns;
  const auto listed = std::min(order.size(), kMaxEvents);
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(listed),
                    order.end());
  for (std::size_t i = 0; i < listed; ++i) f.events.push_back(order[i].second);
  const auto before = [](const Claim& a, const Claim& b) {
    return std::tie(a.device, a.begin) < std::tie(b.device, b.begin);
  };
  if (!std::is_sorted(f.claims.begin(), f.claims.end(), before)) {
    std::stable_sort(f.claims.begin(), f.claims.end(), before);
  }
  const auto parts = std::max<std::size_t>(1, t.devices.size() + t.host.size());
  const auto span = static_cast<double>(t.span.length()) * static_cast<double>(parts);
  const auto share = static_cast<double>(f.wasted_ns) / span;
  f.severity = share >= 0.10   ? Severity::kHigh
               : share >= 0.03 ? Severity::kMedium
                               : Severity::kLow;
}

// Writes what was observed: to whom the time is attributed depends on all other causes,
// and is not a fact of this one.
void write(const Context& context, const Wording& wording, bool divided,
           CostOfRows& costs, Finding& f) {
  const auto& t = context.timeline;
  Finding seen;
  if (divided && !f.observed.empty()) {
    seen.pattern = f.pattern;
    seen.subtype = f.subtype;
    seen.location = f.location;
    seen.deepest = f.deepest;
    seen.operator_name = f.operator_name;
    for (const auto& claim : f.observed) add(seen, claim);
    finish(t, costs, seen);
  }
  const auto& told = seen.claims.empty() ? f : seen;
  f.advice =
      wording.advise ? wording.advise(context, told) : std::string(wording.advice);
  if (divided && seen.claims.empty()) {
    f.message = "By replay, " + duration_text(f.wasted_ns) +
                " of idle time are due to it, " + count_text(f.count, "time", "times") +
                ": it delays what comes after; the rule alone saw too little here.";
    return;
  }
  f.message = wording.describe(context, told);
  // Equal, except for losses of pieces by rounding.
  constexpr std::int64_t kEqual = 50;
  if (std::abs(told.idle_ns - f.idle_ns) * kEqual <=
      std::max(told.wasted_ns, f.wasted_ns)) {
    return;
  }
  f.message +=
      " By replay, " + duration_text(f.idle_ns) + " of " +
      (f.idle_ns < told.idle_ns ? "it are due to it." : "idle time are due to it.");
}

// Gives each site to the finding whose evidence came last before it on its thread, or
// first behind it. Their lines are not asked for: a trace has many more sites than
// places that cost something.
void share_sites(const timeline::Timeline& t, std::span<const Mark> sites,
                 std::unordered_map<Key, Finding, Hash>& findings) {
  if (findings.size() < 2) return;  // it gets all
  const auto& c = t.columns();
  struct Evidence {
    std::uint32_t lane;
    std::int64_t begin;
    std::uint32_t row;
    Finding* finding;
    auto order() const { return std::tuple(lane, begin, row); }
  };
  const auto of = [&](std::uint32_t evidence, Finding* finding) {
    const auto row = host_row(t, {{}, evidence});
    return Evidence{t.lanes.lane[row], c.ts[row], row, finding};
  };
  std::vector<Evidence> known;
  for (auto& [key, finding] : findings) {
    auto last = kNoRow;
    for (const auto& claim : finding.claims) {
      if (claim.evidence != last) known.push_back(of(claim.evidence, &finding));
      last = claim.evidence;
    }
  }
  const auto before = [](const Evidence& a, const Evidence& b) {
    return a.order() < b.order();
  };
  std::sort(known.begin(), known.end(), before);
  for (const auto& site : sites) {
    const auto own = of(site.evidence(), nullptr);
    auto it = std::upper_bound(known.begin(), known.end(), own, before);
    if (it != known.begin() && std::prev(it)->lane == own.lane) --it;
    if (it != known.end() && it->lane == own.lane) it->finding->sites.push_back(site);
  }
}

}  // namespace

std::vector<Finding> group(const Context& context, PatternId pattern,
                           const Wording& wording, std::span<const Claim> claims,
                           std::optional<std::span<const Claim>> observed,
                           std::span<const Mark> sites, const SourceLines& lines) {
  const auto& t = context.timeline;
  // Names that only captures have, with ids beyond those of the trace.
  const auto own = static_cast<std::uint32_t>(t.trace->strings.size());
  std::vector<std::string_view> captured;
  std::map<std::string_view, std::uint32_t> captured_ids;
  const auto text_of = [&](std::uint32_t name) {
    return name < own ? t.trace->strings.view(name) : captured[name - own];
  };
  // What names a row's operator or phase, as the id of that name.
  const auto name_of = [&](std::uint32_t row) {
    const bool has_line = lines.place(row) != 0;
    auto named = kNoRow;
    if (const auto* node = context.args.captured(row); node && has_operator(pattern)) {
      const auto& of = *node->capture;
      const auto op = of.launches[node->launch].op;
      if (op != kNoRow) {
        const std::string_view name = of.texts[of.ops[op].name];
        const auto in_trace = t.trace->strings.find(name);
        if (in_trace >= 0) return static_cast<std::uint32_t>(in_trace);
        const auto [it, fresh] = captured_ids.try_emplace(
            name, own + static_cast<std::uint32_t>(captured.size()));
        if (fresh) captured.push_back(name);
        return it->second;
      }
    }
    if (has_operator(pattern)) {
      const auto owner = t.owner_of(row);
      if (owner != kNoRow) named = operator_of(t, owner, has_line);
    } else if (!has_line) {
      named = phase_of(t, row);
    }
    return named == kNoRow ? kNoRow : t.columns().name[named];
  };
  const auto key_of = [&](std::uint32_t row, std::uint32_t name, std::uint8_t subtype) {
    const auto place = lines.place(row);
    return Key{place, place == 0 ? name : kNoRow, subtype};
  };
  std::unordered_map<Key, Finding, Hash> by_key;
  // Of a known line, what each operator below it cost, by its name.
  std::unordered_map<Key, std::map<std::uint32_t, std::int64_t>, Hash> below;
  for (const auto& claim : claims) {
    const auto name = name_of(claim.evidence);
    const auto key = key_of(claim.evidence, name, claim.subtype);
    const auto [it, fresh] = by_key.try_emplace(key);
    auto& finding = it->second;
    if (fresh) {
      finding.pattern = pattern;
      finding.subtype = claim.subtype;
      finding.location = lines.frame(key.frame);
      if (key.name != kNoRow) {
        finding.operator_name = text_of(key.name);
      }
    }
    if (key.frame != 0) below[key][name] += claim.end - claim.begin;
    add(finding, claim);
  }
  for (const auto& claim : observed.value_or(std::span<const Claim>())) {
    const auto it =
        by_key.find(key_of(claim.evidence, name_of(claim.evidence), claim.subtype));
    if (it != by_key.end()) it->second.observed.push_back(claim);
  }
  // A line is one finding, whatever it calls; an operator names it that has half of it.
  for (const auto& [key, costs] : below) {
    auto& finding = by_key.at(key);
    for (const auto& [name, ns] : costs) {
      if (name == kNoRow || 2 * ns <= finding.wasted_ns) continue;
      finding.operator_name = text_of(name);
    }
  }
  share_sites(t, sites, by_key);
  // In an order that does not depend on numbers.
  std::map<Place, Finding> places;
  for (auto& [key, finding] : by_key) {
    Place place{finding.subtype, "", -1, "", finding.operator_name};
    if (finding.location) {
      place.file = finding.location->file;
      place.line = finding.location->line;
      place.function = finding.location->function;
    }
    places.emplace(std::move(place), std::move(finding));
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
    rest.sites.insert(rest.sites.end(), finding.sites.begin(), finding.sites.end());
    rest.observed.insert(rest.observed.end(), finding.observed.begin(),
                         finding.observed.end());
  }
  // The rest is listed only if it is large enough; it stays in the balance. A finding
  // without a place reads as the same row.
  for (auto& [subtype, rest] : elsewhere) {
    const auto nowhere = std::ranges::find_if(kept, [&](const Finding& f) {
      return f.subtype == subtype && !f.location && f.operator_name.empty();
    });
    if (nowhere != kept.end()) {
      for (const auto& claim : rest.claims) add(*nowhere, claim);
      nowhere->sites.insert(nowhere->sites.end(), rest.sites.begin(), rest.sites.end());
      nowhere->observed.insert(nowhere->observed.end(), rest.observed.begin(),
                               rest.observed.end());
    } else if (rest.wasted_ns >= kMinCost) {
      kept.push_back(std::move(rest));
    }
  }
  if (kept.size() == 1) kept.front().sites.assign(sites.begin(), sites.end());
  CostOfRows costs(t.columns().size());
  for (auto& finding : kept) {
    finish(t, costs, finding);
    finding.calls = calls_of(finding, lines);
    finding.deepest = deepest_below(t, finding);
    write(context, wording, observed.has_value(), costs, finding);
  }
  return kept;
}

}  // namespace tta::patterns

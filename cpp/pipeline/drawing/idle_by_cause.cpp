// SPDX-License-Identifier: BSD-3-Clause
// pipeline/drawing/idle_by_cause.cpp: adds stretches up by equal parts of the span.
#include "pipeline/drawing/idle_by_cause.h"

#include <algorithm>
#include <map>
#include <utility>

#include "patterns/ledger.h"

namespace tta::pipeline {
namespace {

using timeline::Interval;
using timeline::IntervalSet;

// Idle claims of one device or process by pattern, which is a number of the table.
using Causes = std::map<std::size_t, std::vector<Interval>>;

class Bins {
 public:
  Bins(Interval span, std::size_t most)
      : span_(span), length_((span.length() + as_ns(most) - 1) / as_ns(most)) {}

  std::size_t count() const {
    return static_cast<std::size_t>((span_.length() + length_ - 1) / length_);
  }
  std::int64_t begin(std::size_t bin) const {
    return std::min(span_.begin + as_ns(bin) * length_, span_.end);
  }
  // Adds the share of each bin that a set inside the span covers.
  void spread(const IntervalSet& set, std::size_t cause, IdleByCause& out) const {
    for (const auto& time : set) {
      auto bin = static_cast<std::size_t>((time.begin - span_.begin) / length_);
      for (; bin < count() && begin(bin) < time.end; ++bin) {
        const Interval whole{begin(bin), begin(bin + 1)};
        out.bins[bin].shares[cause] +=
            static_cast<double>(timeline::intersect(time, whole).length()) /
            static_cast<double>(whole.length());
      }
    }
  }

 private:
  static std::int64_t as_ns(std::size_t n) { return static_cast<std::int64_t>(n); }
  const Interval span_;
  const std::int64_t length_;
};

}  // namespace

std::vector<IdleByCause> idle_by_cause(const Report& report, std::size_t most) {
  const auto& t = *report.timeline;
  std::vector<IdleByCause> out(t.devices.size() + t.host.size());
  if (report.balance.empty() || t.span.length() == 0) return out;
  std::vector<Causes> causes(out.size());
  for (const auto& finding : report.findings) {
    const auto pattern = static_cast<std::size_t>(finding.pattern);
    for (const auto& claim : finding.claims) {
      if (!claim.idle && claim.device >= 0) continue;  // A process has but one time.
      const auto index = patterns::index_of(t, claim);
      if (index == timeline::HostTimes::kNone) continue;
      causes[index][pattern].push_back({claim.begin, claim.end});
    }
  }
  // It is nobody's finding, and kept for devices only.
  const auto profiler =
      static_cast<std::size_t>(patterns::PatternId::kProfilerArtifact);
  for (std::size_t index = 0; index < report.profiler_idle.size(); ++index) {
    const auto& idle = report.profiler_idle[index];
    if (!idle.empty()) causes[index][profiler] = idle;
  }
  const Bins bins(t.span, most);
  for (std::size_t index = 0; index < out.size(); ++index) {
    auto& idle = out[index];
    for (std::size_t bin = 0; bin <= bins.count(); ++bin) {
      idle.bins.push_back(
          {bins.begin(bin), std::vector<double>(causes[index].size() + 1)});
    }
    auto known = index < t.devices.size() ? t.devices[index].busy
                                          : t.host[index - t.devices.size()].busy;
    for (auto& [pattern, times] : causes[index]) {
      known.insert(known.end(), times.begin(), times.end());
      const auto cause = idle.causes.size();
      idle.causes.emplace_back(report.patterns.rows()[pattern].name);
      bins.spread(timeline::clip(timeline::unite(std::move(times)), t.span), cause,
                  idle);
    }
    const auto rest = timeline::subtract({t.span}, timeline::unite(std::move(known)));
    bins.spread(rest, idle.causes.size(), idle);
    idle.causes.emplace_back("unattributed");
  }
  return out;
}

}  // namespace tta::pipeline

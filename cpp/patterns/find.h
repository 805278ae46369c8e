// SPDX-License-Identifier: BSD-3-Clause
// patterns/find.h: runs every rule over a timeline and gathers what they claim.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "patterns/facts.h"
#include "patterns/finding.h"
#include "patterns/group.h"
#include "patterns/own_rule.h"
#include "patterns/pattern_table.h"
#include "patterns/settings.h"
#include "timeline/event_args.h"
#include "timeline/timeline.h"

namespace tta::patterns {

/// What all rules together found.
struct Findings {
  PatternTable patterns;          ///< The patterns of PatternIds, own rules included.
  std::vector<Finding> findings;  ///< Most wasted first; of user patterns only.
  std::vector<Claim> claims;      ///< All that count, profiler_artifact included.
  /// What the rules claimed, counted or not: the time in which each pattern was seen,
  /// whichever pattern has it in `claims`, which are about to be divided up again
  /// (Search::complete_sites). Empty: they are not.
  std::vector<Claim> observed;
  /// Where each pattern occurs, by its number, in order of time: of rules that note it
  /// (note_sites), what they noted; of others, the events that prove their claims.
  std::vector<std::vector<Mark>> sites;
  /// The idle time that no claim covers, in the order of Timeline::devices; of a trace
  /// without device work, the processes' time, in that of Timeline::host.
  std::vector<timeline::IntervalSet> unclaimed;
  std::vector<OwnOutcome> own;  ///< One for each own rule that ran, in their order.
};

/// Looks for patterns in two phases, claims and then findings: in between, claims may
/// move to other patterns (pipeline/pricing/blame.h). Refers to all its arguments.
class Search {
 public:
  Search(const timeline::Timeline& timeline, const timeline::EventArgs& args,
         const Settings& settings = {}, std::span<const OwnRule> own = {});

  /// Runs the rules in the order of the pattern table; `findings` is left empty.
  ///
  /// A rule's claims count if together they cost at least kMinCost and the rule's share
  /// of the span (counts()). Without device work they are judged process by process, so
  /// that the time of many helpers does not hide what one wastes.
  ///
  /// Own rules run after these, or before the one they name; their claims count on the
  /// same terms. PatternIds after the built-in ones are theirs, in the order given.
  ///
  /// Cost: about one pass over the rows a rule. Throws what Trace::read_args throws
  /// (for the Call stack of old traces), PatternTable::add, grant and what own rules
  /// throw.
  Findings run();

  /// Gives each part of the host's time to the sites of one pattern, the narrowest, and
  /// adds those of launching (launch_sites.h), and what was observed. For a replay of a
  /// trace with device work: O(n log n) in its rows.
  void complete_sites(Findings& found);

  /// Groups claims by sub-type and source line, or operator where no line is known;
  /// groups under kMinCost, and those beyond the ten costliest of a pattern, are
  /// gathered in one finding without a place. `windows` is left empty.
  void group(Findings& found);

  /// The operators against the peaks of their device, as the rules used them.
  std::shared_ptr<const work::OperatorTimes> operators() const;

  bool enabled(PatternId pattern) const { return settings_.enabled(pattern); }
  /// Tells whether what a pattern costs in all amounts to something.
  bool counts(PatternId pattern, std::int64_t ns) const;

 private:
  Context context(Limits limits) const;
  void keep_what_counts(PatternId pattern, std::vector<Claim>& claims) const;
  void count(PatternId pattern, std::vector<Claim> claims, Findings& out);
  Limits limits(PatternId pattern) const;

  const timeline::Timeline& t_;
  const timeline::EventArgs& args_;
  Settings settings_;  // a copy: the default is a temporary
  std::span<const OwnRule> own_;
  Ledger ledger_;
  mutable Facts facts_;
  std::vector<Claim> proposed_;  // all that rules claimed
};

/// Both at once.
Findings find(const timeline::Timeline& timeline, const timeline::EventArgs& args,
              const Settings& settings = {}, std::span<const OwnRule> own = {});

}  // namespace tta::patterns

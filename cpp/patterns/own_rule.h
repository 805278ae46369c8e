// SPDX-License-Identifier: BSD-3-Clause
// patterns/own_rule.h: rules that are not built in but given for one analysis.
//
// Users write them, so their requests are not trusted: they are cut to the ledger's
// remaining time, and the amount cut is reported.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "patterns/rule.h"

namespace tta::patterns {

/// A stretch of time that an own rule blames its pattern for.
struct Request {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::uint32_t evidence = 0;  ///< Row of the event that proves it.
  /// None: the idle time of every device that waited for the thread of the evidence
  /// meanwhile (claim_marks); of a trace without device work, the process's time.
  std::optional<std::int32_t> device;
  bool busy = false;  ///< Of `device`: wasted busy time, instead of idle time.
};

struct OwnRule {
  std::string name;
  PatternSide side = PatternSide::kCpu;
  std::string summary, advice;
  double min_share = 0;  ///< As the threshold of this name that built-in rules have.
  /// Runs just before this built-in rule; none: after all of them.
  std::optional<PatternId> before;
  std::function<std::vector<Request>(const Context&)> propose;
};

/// What became of an own rule's requests.
struct OwnOutcome {
  PatternId pattern;
  std::uint64_t requests = 0;
  std::int64_t asked_ns = 0;  ///< Sum of their lengths within the span.
  /// What they get: idle (or busy) time inside them, not claimed before, once.
  std::int64_t claimed_ns = 0;
  std::int64_t taken_ns = 0;  ///< Lost to earlier rules.
  bool counted = false;       ///< False: too little, so that nothing of it is claimed.
};

/// Sums the lengths of claims.
std::int64_t cost_of(const std::vector<Claim>& claims);

/// Makes claims of requests: of what is left in the ledger, each nanosecond once. Where
/// requests overlap, one without a device goes first, then the one that begins first.
///
/// Throws std::invalid_argument for a row that is not in the trace and a device that
/// did no work. O((requests + gaps) log n) a device.
std::vector<Claim> grant(const Context& context, PatternId pattern,
                         const std::vector<Request>& requests);

/// Runs a rule and makes claims of its requests. Fills the outcome, whose pattern is
/// set, except for `counted`. Throws whatever the rule and grant throw.
std::vector<Claim> run(const OwnRule& rule, const Context& context,
                       OwnOutcome& outcome);

/// One sentence on a finding of an own rule, in figures.
std::string describe_own(const Context& context, const Finding& finding);

}  // namespace tta::patterns

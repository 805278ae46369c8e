// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/queue_full.cpp: the host was so far ahead that launching had to wait.
//
// This is evidence against causes on the host's side, and costs nothing: while launches
// wait, the device is busy. So no time is claimed and there is no finding, whatever the
// settings. The facts are timeline::queue_facts(), for reports to quote. Which rules
// need no guard by it, and why, is in docs/patterns/queue_full.md.
#include <array>

#include "patterns/rule.h"

namespace tta::patterns {
namespace queue_full {
namespace {

constexpr std::array kThresholds = {
    Threshold{"min_share", 0, "share", "claims no time: without effect"},
};

std::vector<Claim> propose(const Context&) { return {}; }

// Never called: there is no finding without a claim.
std::string describe(const Context&, const Finding&) {
  return "Launches waited for a place in the queue.";
}

}  // namespace
}  // namespace queue_full

const Rule kQueueFullRule{PatternId::kQueueFull, queue_full::kThresholds,
                          queue_full::propose, queue_full::describe};

}  // namespace tta::patterns

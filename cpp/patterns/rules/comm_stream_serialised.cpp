// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/comm_stream_serialised.cpp: STUB, to be replaced.
#include <array>

#include "patterns/rule.h"

namespace tta::patterns {
namespace {

enum : std::size_t { kMinShare };
constexpr std::array kThresholds = {
    Threshold{"min_share", 0.01, "share", "STUB"},
};

std::vector<Claim> propose(const Context&) { return {}; }

std::string describe(const Context&, const Finding&) { return ""; }

}  // namespace

const Rule kCommStreamSerialisedRule{PatternId::kCommStreamSerialised, kThresholds,
                                     propose, describe};

}  // namespace tta::patterns

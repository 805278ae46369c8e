// SPDX-License-Identifier: BSD-3-Clause
// replay/collective_order.h: what collectives on the host wait for, and who for them.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "replay/hand_over.h"
#include "replay/host_collectives.h"
#include "replay/model.h"

namespace tta::replay {

/// A moment of a thread of a backend that waits for nothing but what was before it.
struct PlainMoment {
  std::uint32_t lane, row;
  std::int64_t when;
};

struct CollectiveOrder {
  std::vector<HandOver> hand_overs;
  /// For each collective, the place of its operator's transfer; calls.h's kNone if it
  /// was not requested in the trace. Without it, the collective begins as soon as it is
  /// ready.
  std::vector<std::uint32_t> asks;
  std::vector<PlainMoment> moments;
};

/// Orders the collectives of find_host_collectives. One begins
/// - so long after its operator as recorded, or, if its thread was still at the one
///   before, so long after that;
/// - not before it is ready;
/// - not before the one that began before it on any thread has ended, or as much before
///   as recorded: they share one link, and what one of them sends the other cannot.
/// Who waited goes on so long after its end as recorded. Linear.
CollectiveOrder order_of(const std::vector<HostCollective>& collectives,
                         const timeline::Timeline& timeline);

/// Lets those collectives of a model whose rows are in `untied` begin when they are
/// ready, by taking away the edges of their operators. Linear.
void begin_when_ready(const Model& model, const std::set<std::uint32_t>& untied,
                      std::vector<std::int64_t>& weights);

}  // namespace tta::replay

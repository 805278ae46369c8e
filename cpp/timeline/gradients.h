// SPDX-License-Identifier: BSD-3-Clause
// timeline/gradients.h: which operators of the backward pass belong to which of the
// forward pass.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "timeline/timeline.h"

namespace tta::timeline {

/// Autograd's nodes by sequence number: an operator of the forward pass carries the
/// number of the node that it makes, and the node's operator in the backward pass
/// carries it again.
///
/// Numbers count up on each thread. Several operators may carry one, of which the last
/// made the node; where several threads of a process used a number, which of them it
/// was is not known. Refers to the timeline; O(n log n) to make.
class Gradients {
 public:
  explicit Gradients(const Timeline& timeline);

  /// Returns the operator that made the node which a row, or what it is a part of,
  /// runs; kNoRow if there is none, or none is known. O(depth + log n).
  std::uint32_t forward_of(std::uint32_t row) const;

  /// Returns the rows of the backward pass, outermost and ascending, that run nodes
  /// made by a thread's operators that began in `time`. O(log n + (operators + rows)
  /// log n).
  std::vector<std::uint32_t> backward_of(std::uint32_t lane, Interval time) const;

 private:
  struct Numbered {
    std::int64_t pid, sequence;
    std::uint32_t row;
  };
  static std::span<const Numbered> find(const std::vector<Numbered>& all,
                                        std::int64_t pid, std::int64_t sequence);

  const Timeline& t_;
  std::vector<Numbered> forwards_;   // one of each number; kNoRow: not known
  std::vector<Numbered> backwards_;  // the outermost of each node
};

}  // namespace tta::timeline

// SPDX-License-Identifier: BSD-3-Clause
// detector/stack.h: what is made of a network's logits, of trees and of the rules: how
// they are read together, when a window is flagged, and which windows are too strange.
// Knows no torch.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "detector/trees.h"
#include "patterns/pattern.h"

namespace tta::detector {

/// How network, trees and rules are read together. Without anything else the network
/// alone speaks.
struct Mix {
  /// Of the CPU's and the GPU's side: probability = sigmoid([0] network's logit + [1]
  /// trees' raw + [2] rules' logit + [3]). Network and trees are asked about the window
  /// as if rules claimed nothing in it, see silent(), and [2] is not negative: so a
  /// larger claim never lowers a probability.
  std::array<std::array<float, 4>, 2> sides = {{{1, 0, 0, 0}, {1, 0, 0, 0}}};
  /// Score of a type = [0] network's logit + [1] trees' raw + [2] rules' logit of that
  /// pattern; shares are a softmax over the types of a side.
  std::array<float, 3> types = {1, 0, 0};
  /// The network's share in what is recoverable; the rest is the trees'. 0 to 1.
  float recoverable = 1;
};

/// When a window is flagged, by split conformal prediction (Papadopoulos et al. 2002;
/// Vovk, Gammerman, Shafer 2005, "Algorithmic Learning in a Random World", 4.2).
///
/// Holds the probabilities that windows known to be negative were given, which nothing
/// else was fitted on.
struct Calibration {
  std::array<std::vector<float>, 2> negatives;  ///< Of CPU and GPU; sorted; 0 to 1.

  /// Returns the threshold that a new negative window exceeds with a probability of at
  /// most `false_alarms`: of n negatives, sorted, the ceil((n + 1)(1 -
  /// false_alarms))th. Infinite, so that nothing is flagged, where so few cannot
  /// promise that.
  ///
  /// The promise holds, whatever the model, if the new window and those here are
  /// exchangeable: it is one of the same kind, not one of a trace unlike all of theirs;
  /// and it is of the share among all draws of negatives, not of each single one.
  /// Throws std::invalid_argument unless `side` is 0 or 1 and false_alarms from 0 to
  /// below 1.
  float threshold(std::size_t side, double false_alarms) const;
};

/// The windows that training knew, to tell those that are unlike them. Empty: none is
/// strange.
struct Known {
  std::vector<float> center;  ///< Of each window column.
  std::vector<float> middle;  ///< Replaces a missing value.
  std::vector<float> whiten;  ///< Rows of as many columns, at least one.
  /// A window that is stranger is abstained from; so is a trace whose median window is.
  float window_from = std::numeric_limits<float>::infinity();
  float trace_from = std::numeric_limits<float>::infinity();

  /// Returns for each window |whiten (x - center)| / sqrt(rows of whiten); 0 if this is
  /// empty.
  std::vector<float> strangeness(std::span<const float> windows,
                                 const Tables& tables = own_tables()) const;
};

/// All of a model but its network.
struct Stack {
  Forest trees;
  Mix mix;
  Calibration calibration;
  Known known;
};

/// Throw std::invalid_argument, naming what, for what is out of range, not sorted, of
/// another length or no number, or does not fit the tables. That of a Stack looks at
/// its trees no further: they were checked when they were made.
void check(const Mix& mix);
void check(const Calibration& calibration);
void check(const Known& known, const Tables& tables = own_tables());
void check(const Stack& stack, const Tables& tables = own_tables());

/// A model's output for the windows of a trace. For CPU and GPU each: [windows x 2].
struct Said {
  std::vector<float> probability;  ///< Of a pattern, by all together.
  std::vector<float> network;      ///< By the network alone, of silent() windows.
  std::vector<float> trees;  ///< By the trees alone, likewise; NaN: there are none.
  /// For each pattern of the tables: its share in its side; a side's add up to 1.
  std::vector<float> types;
  std::vector<float> recoverable;    ///< The share of a window's time, 0 to 1.
  std::vector<std::int64_t> events;  ///< As in Scores.
  std::vector<float> event_shares;
  std::vector<float> strangeness;  ///< Of silent() windows.
};

using patterns::rules_logit;

/// Returns for each window the rules' verdict on CPU and GPU: rules_logit() of the
/// share of its time that patterns of that side waste; unknown counts as 0.
std::vector<float> rules_input(std::span<const float> windows,
                               const Tables& tables = own_tables());

/// Returns rows of windows, each with `patterns` shares by cause at its end, in which
/// rules claim nothing: shares that are known are 0.
std::vector<float> silent(std::span<const float> windows, std::size_t columns,
                          std::size_t patterns);

/// Reads rows of window columns together with the network's logits of them as silent(),
/// Tables::outputs() for each. `claimed` are the shares that rules claim, of CPU and
/// GPU of each window; none: those of the rows, as rules_input() has them. Trees name
/// patterns and what is recoverable by the rows as they are. Events are left empty.
/// Throws std::invalid_argument if rows do not fit.
Said read_together(
    const Stack& stack, std::span<const float> windows, std::span<const float> logits,
    std::span<const float> claimed = {}, const Tables& tables = own_tables(),
    int threads = 1, const Checkpoint& checkpoint = [] {});

}  // namespace tta::detector

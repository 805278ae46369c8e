// SPDX-License-Identifier: BSD-3-Clause
// pipeline/verdicts/verdicts.h: flags, labels and findings from a learned model's
// scores, beside those of rules. Scores come in as plain arrays: no torch
// is needed here.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "pipeline/report.h"

namespace tta::pipeline {

/// The share of a window from which on a side counts as losing time.
inline constexpr double kLoss = 0.05;

/// The scores of the n windows of a report, in their order. Where there are two
/// columns, 0 is the CPU's side and 1 the GPU's.
struct ModelScores {
  std::vector<std::string> patterns;   ///< The P columns of `types`.
  std::vector<std::string> not_asked;  ///< Those of them that are never named.
  std::span<const float> probability;  ///< [n x 2]: that the side loses kLoss and more.
  std::span<const float> types;        ///< [n x P]: which pattern of its side.
  std::span<const float> recoverable;  ///< [n]: the share that would be saved.
  std::span<const float> strangeness;  ///< [n]
  /// [n x any number]: the tokens attended to most, most first; -1: none.
  std::span<const std::int64_t> tokens;
  std::span<const std::uint32_t> token_rows;  ///< The row in the trace of each token.
  std::array<double, 2> thresholds;           ///< A side is flagged above its own.
  /// A stranger window gets the rules' verdict; all do if the median one is stranger.
  double window_from = 0, trace_from = 0;
};

#define TTA_AGREEMENT(FIELD)                         \
  FIELD(std::uint64_t, both, 0, "Rules and model.")  \
  FIELD(std::uint64_t, rules, 0, "Rules alone.")     \
  FIELD(std::uint64_t, model, 0, "The model alone.") \
  FIELD(std::uint64_t, neither, 0, "Neither.")
TTA_RECORD(Agreement, TTA_AGREEMENT,
           "In how many windows rules and model see a loss on a side, of those with a "
           "verdict of the model's own.")

#define TTA_VERDICT_COUNTS(FIELD)                                                     \
  FIELD(std::uint64_t, flagged, 0, "Windows with a flagged side.")                    \
  FIELD(std::uint64_t, with_rules, 0, "Those where rules see a loss on that side.")   \
  FIELD(std::uint64_t, rules_alone, 0,                                                \
        "Windows with a verdict where rules see a loss and the model flags no side.") \
  FIELD(std::uint64_t, abstained, 0,                                                  \
        "Windows unlike those it learned from, where it follows the rules.")          \
  FIELD(Agreement, cpu, {}, "Of the CPU side.")                                       \
  FIELD(Agreement, gpu, {}, "Of the GPU side.")
TTA_RECORD(VerdictCounts, TTA_VERDICT_COUNTS, "Windows by the verdict of a model.")

struct Verdicts {
  bool strange = false;  ///< The trace as a whole is unlike the training traces.
  /// [n x 2]: as given; rules_probability() where the window is too strange, or the
  /// model can name no pattern of the side; NaN: the GPU's side without a device.
  std::vector<float> probability;
  /// [n x 2]: the column of the most likely pattern of each side: where rules see a
  /// loss, the one that they blame most, if the model knows it. -1: none.
  std::vector<std::int64_t> guess;
  std::vector<std::int64_t> events;     ///< As ModelScores::tokens: rows of the trace.
  std::size_t events_each = 0;          ///< How many of them a window has.
  std::vector<std::uint8_t> abstained;  ///< [n]: too strange.
  std::vector<std::uint8_t> follows;    ///< [n x 2]: as the rules say.
  std::vector<std::uint8_t> flagged;  ///< [n x 2]: above the threshold, or as by_rules.
  std::vector<std::uint8_t> by_rules;  ///< [n x 2]: rules see a loss.
  /// [n]: flagged, and rules see next to nothing.
  std::vector<std::uint8_t> unexplained;
  VerdictCounts counts;
  /// Those of the report with probabilities, and a label for each side that the model
  /// itself flags after those of rules.
  std::vector<Window> windows;
  /// Of unexplained windows, one for each place, the one that saves most first; at most
  /// ten, then one without a place. They claim no time and are graded low.
  std::vector<Finding> findings;
};

/// The probability of a loss by rules alone that claim this share of a window: 0.5 at
/// kLoss, and the odds of the others as patterns::rules_logit() has them. Rises with
/// it.
double rules_probability(double share);

/// Returns [n x 2]: the largest share that a fix saves by a rule's label, of each side
/// of each window. Time that no one can save, such as the profiler's, does not count.
std::vector<float> claimed_shares(const Report& report);

/// Compares scores with what rules found. Linear in the windows and their labels, plus
/// looking up the lines of unexplained ones (timeline::user_frames).
///
/// Throws std::invalid_argument, naming it, if an array has another length, or a token
/// is none.
Verdicts model_verdicts(const Report& report, const ModelScores& scores);

/// Makes the findings; `verdicts` has all else.
std::vector<Finding> unexplained_findings(const Report& report,
                                          const ModelScores& scores,
                                          const Verdicts& verdicts);

}  // namespace tta::pipeline

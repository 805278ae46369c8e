// SPDX-License-Identifier: BSD-3-Clause
// detector/stack.cpp: sums and thresholds. Computed as doubles, so that no weights of a
// file lead to NaN.
#include "detector/stack.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <stdexcept>
#include <string>

#include "detector/columns.h"

namespace tta::detector {

namespace {

constexpr const char* kSides[] = {"cpu", "gpu"};

[[noreturn]] void no_stack(const std::string& what) {
  throw std::invalid_argument(what);
}

void check_finite(std::span<const float> values, const std::string& name) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) continue;
    no_stack(name + ": value " + std::to_string(i) + " is not a finite number");
  }
}

}  // namespace

void check(const Mix& mix) {
  for (const auto& side : mix.sides) {
    check_finite(side, "mix.sides");
    if (side[2] < 0) no_stack("mix.sides: a weight of the rules is negative");
  }
  check_finite(mix.types, "mix.types");
  if (!(mix.recoverable >= 0 && mix.recoverable <= 1)) {
    no_stack("mix.recoverable must be 0 to 1");
  }
}

void check(const Calibration& calibration) {
  for (std::size_t side = 0; side < 2; ++side) {
    const auto name = std::string("calibration.") + kSides[side] + ": value ";
    float last = 0;
    for (std::size_t i = 0; i < calibration.negatives[side].size(); ++i) {
      const auto value = calibration.negatives[side][i];
      if (!(value >= 0 && value <= 1)) {
        no_stack(name + std::to_string(i) + " is not a probability");
      }
      if (value < last) no_stack(name + std::to_string(i) + " is not sorted");
      last = value;
    }
  }
}

void check(const Known& known, const Tables& tables) {
  if (!(known.window_from >= 0 && known.trace_from >= 0)) {
    no_stack("known: window_from and trace_from must not be negative");
  }
  const auto columns = tables.window_columns();
  const auto rows = known.whiten.size() / columns;
  if (known.center.empty() && known.middle.empty() && known.whiten.empty()) return;
  if (known.center.size() != columns || known.middle.size() != columns ||
      known.whiten.size() != rows * columns || rows == 0) {
    no_stack("known: center, middle and rows of whiten must have " +
             std::to_string(columns) + " columns");
  }
  check_finite(known.center, "known.center");
  check_finite(known.middle, "known.middle");
  check_finite(known.whiten, "known.whiten");
}

void check(const Stack& stack, const Tables& tables) {
  check(stack.mix);
  check(stack.calibration);
  check(stack.known, tables);
  if (!stack.trees.fits(tables)) no_stack("trees: made for other columns or patterns");
}

namespace {

// What rules say that the i-th pattern wastes of a window; 0 where it is not known.
double rules_share(std::span<const float> windows, const Tables& tables,
                   std::size_t window, std::size_t i) {
  const auto share =
      windows[window * tables.window_columns() + tables.statistics.size() + i];
  return std::isnan(share) ? 0 : static_cast<double>(share);
}

float sigmoid(double logit) { return static_cast<float>(1 / (1 + std::exp(-logit))); }

double weighed(std::span<const float> weights, std::initializer_list<double> values) {
  double out = 0;
  const auto* weight = weights.data();
  for (const auto value : values) out += static_cast<double>(*weight++) * value;
  return out;
}

// Of what the types of a side are scored: shares that add up to 1.
void share_types(std::span<const double> scores, const Tables& tables,
                 std::span<float> out) {
  const auto side = [&](std::size_t i) { return tables.patterns[i].side; };
  double most[2] = {-INFINITY, -INFINITY}, sum[2] = {0, 0};
  for (std::size_t i = 0; i < scores.size(); ++i) {
    most[side(i)] = std::max(most[side(i)], scores[i]);
  }
  const auto weight = [&](std::size_t i) {
    return std::exp(scores[i] - most[side(i)]);
  };
  for (std::size_t i = 0; i < scores.size(); ++i) sum[side(i)] += weight(i);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    out[i] = static_cast<float>(weight(i) / sum[side(i)]);
  }
}

}  // namespace

float Calibration::threshold(std::size_t side, double false_alarms) const {
  if (side > 1) throw std::invalid_argument("side must be 0 (CPU) or 1 (GPU)");
  if (!(false_alarms >= 0 && false_alarms < 1)) {
    throw std::invalid_argument("false_alarms must be 0 to 1, and less than 1");
  }
  const auto& sorted = negatives[side];
  // 20 * 0.95 may come out a little above 19, and must not select the 20th.
  const auto exact = static_cast<double>(sorted.size() + 1) * (1 - false_alarms);
  const auto rank = std::max(1.0, std::ceil(exact - 1e-9));
  if (rank > static_cast<double>(sorted.size())) {
    return std::numeric_limits<float>::infinity();
  }
  return sorted[static_cast<std::size_t>(rank) - 1];
}

std::vector<float> Known::strangeness(std::span<const float> windows,
                                      const Tables& tables) const {
  std::vector<float> out(count_rows(windows, tables.window_columns()));
  const auto columns = center.size();
  if (columns == 0) return out;
  const auto parts = whiten.size() / columns;
  std::vector<double> away(columns);
  for (std::size_t w = 0; w < out.size(); ++w) {
    for (std::size_t c = 0; c < columns; ++c) {
      const auto value = windows[w * columns + c];
      away[c] = static_cast<double>(std::isnan(value) ? middle[c] : value) -
                static_cast<double>(center[c]);
    }
    double squares = 0;
    for (std::size_t k = 0; k < parts; ++k) {
      double part = 0;
      for (std::size_t c = 0; c < columns; ++c) {
        part += static_cast<double>(whiten[k * columns + c]) * away[c];
      }
      squares += part * part;
    }
    constexpr double kMost = std::numeric_limits<float>::max();
    out[w] = static_cast<float>(
        std::min(kMost, std::sqrt(squares / static_cast<double>(parts))));
  }
  return out;
}

std::vector<float> rules_input(std::span<const float> windows, const Tables& tables) {
  const auto count = count_rows(windows, tables.window_columns());
  std::vector<float> out(2 * count);
  for (std::size_t w = 0; w < count; ++w) {
    double wasted[2] = {0, 0};
    for (std::size_t i = 0; i < tables.patterns.size(); ++i) {
      wasted[tables.patterns[i].side] += rules_share(windows, tables, w, i);
    }
    for (std::size_t side = 0; side < 2; ++side) {
      out[2 * w + side] = static_cast<float>(rules_logit(wasted[side]));
    }
  }
  return out;
}

std::vector<float> silent(std::span<const float> windows, std::size_t columns,
                          std::size_t patterns) {
  std::vector<float> out(windows.begin(), windows.end());
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (i % columns >= columns - patterns && !std::isnan(out[i])) out[i] = 0;
  }
  return out;
}

Said read_together(const Stack& stack, std::span<const float> windows,
                   std::span<const float> logits, std::span<const float> claimed,
                   const Tables& tables, int threads, const Checkpoint& checkpoint) {
  const auto count = count_rows(windows, tables.window_columns());
  const auto outputs = tables.outputs(), types = tables.patterns.size();
  if (logits.size() != count * outputs)
    throw std::invalid_argument("logits must be of all windows");
  if (!claimed.empty() && claimed.size() != 2 * count)
    throw std::invalid_argument("claimed must have two shares for each window");
  const auto quiet = silent(windows, tables.window_columns(), types);
  const auto grown = [&](std::span<const float> rows) {
    return stack.trees.none() ? std::vector<float>(count * outputs)
                              : stack.trees.raw(rows, threads, checkpoint);
  };
  const auto raw = grown(windows), beside = grown(quiet);
  auto rules = rules_input(windows, tables);
  for (std::size_t i = 0; i < claimed.size(); ++i) {
    rules[i] = static_cast<float>(rules_logit(static_cast<double>(claimed[i])));
  }
  const auto& mix = stack.mix;
  Said out;
  out.types.resize(count * types);
  out.strangeness = stack.known.strangeness(quiet, tables);
  std::vector<double> scores(types);
  for (std::size_t w = 0; w < count; ++w) {
    const auto network = [&](std::size_t i) -> double {
      return logits[w * outputs + i];
    };
    const auto trees = [&](std::size_t i) -> double { return raw[w * outputs + i]; };
    const auto apart = [&](std::size_t i) -> double { return beside[w * outputs + i]; };
    for (std::size_t side = 0; side < 2; ++side) {
      out.probability.push_back(sigmoid(weighed(
          mix.sides[side], {network(side), apart(side), rules[2 * w + side], 1})));
      out.network.push_back(sigmoid(network(side)));
      out.trees.push_back(stack.trees.none() ? NAN : sigmoid(apart(side)));
    }
    for (std::size_t i = 0; i < types; ++i) {
      scores[i] = weighed(mix.types, {network(2 + i), trees(2 + i),
                                      rules_logit(rules_share(windows, tables, w, i))});
    }
    share_types(scores, tables, std::span(out.types).subspan(w * types, types));
    const auto share = static_cast<double>(mix.recoverable);
    out.recoverable.push_back(static_cast<float>(
        std::clamp(share * static_cast<double>(sigmoid(network(outputs - 1))) +
                       (1 - share) * trees(outputs - 1),
                   0.0, 1.0)));
  }
  return out;
}

}  // namespace tta::detector

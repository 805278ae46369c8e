// SPDX-License-Identifier: BSD-3-Clause
// pipeline/verdicts/verdicts.cpp: applies thresholds, and compares with the labels of
// rules.
#include "pipeline/verdicts/verdicts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>

namespace tta::pipeline {
namespace {

// Rules explain a window of which they say this much, on any side: less is what every
// window has.
constexpr double kExplained = 0.02;
constexpr auto kNoVerdict = std::numeric_limits<float>::quiet_NaN();
constexpr std::int64_t kNone = -1;
constexpr PatternSide kSides[] = {PatternSide::kCpu, PatternSide::kGpu};

void check_length(std::size_t has, std::size_t wanted, const char* name) {
  if (has == wanted) return;
  throw std::invalid_argument(std::string(name) + " must have " +
                              std::to_string(wanted) + " values, not " +
                              std::to_string(has));
}

void check(const ModelScores& s, std::size_t windows) {
  check_length(s.probability.size(), 2 * windows, "probability");
  check_length(s.types.size(), s.patterns.size() * windows, "types");
  check_length(s.recoverable.size(), windows, "recoverable");
  check_length(s.strangeness.size(), windows, "strangeness");
  if (windows == 0 ? !s.tokens.empty() : s.tokens.size() % windows != 0) {
    throw std::invalid_argument("tokens must have as many values for each window");
  }
  const auto tokens = static_cast<std::int64_t>(s.token_rows.size());
  for (const auto token : s.tokens) {
    if (token < kNone || token >= tokens) {
      throw std::invalid_argument("tokens: " + std::to_string(token) + " is none of " +
                                  std::to_string(tokens));
    }
  }
}

// The patterns of a model, as far as the report has them.
class ModelPatterns {
 public:
  ModelPatterns(const Report& report, const ModelScores& scores) : scores_(scores) {
    unnamed_.insert(scores.not_asked.begin(), scores.not_asked.end());
    std::map<std::string_view, const patterns::PatternInfo*> known;
    for (const auto& row : report.patterns.rows()) {
      known[row.name] = &row;
      if (!row.user_finding) no_loss_.emplace(row.name);
    }
    no_loss_.insert(unnamed_.begin(), unnamed_.end());
    for (std::size_t i = 0; i < scores.patterns.size(); ++i) {
      const auto& name = scores.patterns[i];
      column_[name] = static_cast<std::int64_t>(i);
      const auto found = known.find(name);
      if (found == known.end() || unnamed_.count(name) > 0) continue;
      named_[found->second->side == PatternSide::kGpu].push_back(i);
    }
  }

  // Whether time of a pattern is a loss that the model was asked for: not time that
  // no one can save, such as the profiler's.
  bool is_loss(const std::string& pattern) const {
    return no_loss_.count(pattern) == 0;
  }
  std::int64_t column(const std::string& pattern) const {
    const auto found = column_.find(pattern);
    return found == column_.end() ? kNone : found->second;
  }
  bool names_any(std::size_t side) const { return !named_[side].empty(); }
  // The most likely pattern of a side.
  std::int64_t likely(std::size_t window, std::size_t side) const {
    auto best = kNone;
    float most = 0;
    for (const auto i : named_[side]) {
      const auto share = scores_.types[window * scores_.patterns.size() + i];
      if (best == kNone || share > most) {
        best = static_cast<std::int64_t>(i);
        most = share;
      }
    }
    return best;
  }

 private:
  const ModelScores& scores_;
  std::set<std::string, std::less<>> unnamed_, no_loss_;
  std::map<std::string, std::int64_t> column_;
  std::array<std::vector<std::size_t>, 2> named_;
};

// The verdict of rules on a window.
struct ByRules {
  std::array<bool, 2> loss{};
  std::array<double, 2> share{};  // what is lost, by the larger of both accounts
  std::array<std::int64_t, 2> blamed = {kNone, kNone};  // columns of the model
  bool explained = false;
};

ByRules by_rules(const Window& window, const ModelPatterns& known) {
  std::array<double, 2> wasted{}, saved{}, blame{};
  double most = 0;
  ByRules out;
  for (const auto& label : window.labels) {
    most = std::max(most, label.saved_fraction);
    if (!known.is_loss(label.pattern)) continue;
    const auto side = static_cast<std::size_t>(label.side == PatternSide::kGpu);
    wasted[side] += label.wasted_fraction;
    saved[side] = std::max(saved[side], label.saved_fraction);
    const auto share = std::max(label.saved_fraction, label.wasted_fraction);
    const auto column = known.column(label.pattern);
    if (share > blame[side] && column != kNone) {
      blame[side] = share;
      out.blamed[side] = column;
    }
  }
  for (std::size_t side = 0; side < 2; ++side) {
    out.share[side] = std::max(wasted[side], saved[side]);
    out.loss[side] = out.share[side] >= kLoss;
  }
  out.explained = std::max(window.cpu_wasted_fraction + window.gpu_wasted_fraction,
                           most) >= kExplained;
  return out;
}

bool median_above(std::span<const float> values, double bound) {
  if (values.empty()) return false;
  std::vector<float> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const auto middle = sorted.size() / 2;
  const auto median = sorted.size() % 2 == 1
                          ? sorted[middle]
                          : (sorted[middle - 1] + sorted[middle]) / 2;
  return static_cast<double>(median) > bound;
}

void count(Agreement& agreement, bool rules, bool model) {
  ++(rules && model ? agreement.both
     : rules        ? agreement.rules
     : model        ? agreement.model
                    : agreement.neither);
}

// The window with the model's verdict.
Window labeled(const Window& window, const ModelScores& s, const Verdicts& v,
               std::size_t number) {
  auto out = window;
  for (std::size_t side = 0; side < 2; ++side) {
    const auto at = 2 * number + side;
    if (std::isnan(v.probability[at])) continue;
    const auto probability = static_cast<double>(v.probability[at]);
    (side == 0 ? out.cpu_probability : out.gpu_probability) = probability;
    if (v.flagged[at] == 0 || v.follows[at] != 0) continue;
    // The accounting is exact, and the rules': a model claims no time.
    Label label;
    label.pattern = s.patterns[static_cast<std::size_t>(v.guess[at])];
    label.side = kSides[side];
    label.saved_fraction = static_cast<double>(s.recoverable[number]);
    label.origin = Origin::kModel;
    label.probability = probability;
    out.labels.push_back(std::move(label));
  }
  return out;
}

}  // namespace

double rules_probability(double share) {
  const auto over = patterns::rules_logit(share) - patterns::rules_logit(kLoss);
  return 1 / (1 + std::exp(-over));
}

std::vector<float> claimed_shares(const Report& report) {
  std::set<std::string_view> no_loss;
  for (const auto& row : report.patterns.rows()) {
    if (!row.user_finding) no_loss.insert(row.name);
  }
  std::vector<float> out(2 * report.windows.size());
  for (std::size_t i = 0; i < report.windows.size(); ++i) {
    for (const auto& label : report.windows[i].labels) {
      if (no_loss.count(label.pattern) > 0) continue;
      auto& most = out[2 * i + (label.side == PatternSide::kGpu ? 1 : 0)];
      most = std::max(most, static_cast<float>(label.saved_fraction));
    }
  }
  return out;
}

Verdicts model_verdicts(const Report& report, const ModelScores& s) {
  const auto n = report.windows.size();
  check(s, n);
  const ModelPatterns known(report, s);
  Verdicts out;
  out.strange = median_above(s.strangeness, s.trace_from);
  out.probability.assign(s.probability.begin(), s.probability.end());
  out.flagged.resize(2 * n);
  for (std::size_t i = 0; i < n; ++i) {
    const auto& window = report.windows[i];
    const auto rules = by_rules(window, known);
    const bool abstained =
        out.strange || static_cast<double>(s.strangeness[i]) > s.window_from;
    out.abstained.push_back(abstained);
    bool any = false, with_rules = false, missed = false;
    for (std::size_t side = 0; side < 2; ++side) {
      auto& probability = out.probability[2 * i + side];
      // Where rules name a pattern they are right more often (docs/detector.md).
      const bool named = rules.loss[side] && rules.blamed[side] != kNone;
      out.guess.push_back(named ? rules.blamed[side] : known.likely(i, side));
      const bool without = side == 1 && !window.device;
      const bool follows = !without && (abstained || !known.names_any(side));
      if (follows) {
        probability = static_cast<float>(rules_probability(rules.share[side]));
      }
      if (without) probability = kNoVerdict;
      const bool flagged = follows
                               ? rules.loss[side]
                               : static_cast<double>(probability) > s.thresholds[side];
      any = any || flagged;
      with_rules = with_rules || (flagged && rules.loss[side]);
      out.flagged[2 * i + side] = flagged;
      out.follows.push_back(follows);
      out.by_rules.push_back(rules.loss[side]);
      if (!follows && !without) {
        count(side == 0 ? out.counts.cpu : out.counts.gpu, rules.loss[side], flagged);
        missed = missed || (!flagged && rules.loss[side]);
      }
    }
    out.counts.flagged += any;
    out.counts.with_rules += with_rules;
    out.counts.rules_alone += missed && !any;
    out.counts.abstained += abstained;
    out.unexplained.push_back(any && !rules.explained);
  }
  if (n > 0) out.events_each = s.tokens.size() / n;
  for (const auto token : s.tokens) {
    out.events.push_back(
        token < 0 ? kNone
                  : std::int64_t{s.token_rows[static_cast<std::size_t>(token)]});
  }
  for (std::size_t i = 0; i < n; ++i) {
    out.windows.push_back(labeled(report.windows[i], s, out, i));
  }
  out.findings = unexplained_findings(report, s, out);
  return out;
}

}  // namespace tta::pipeline

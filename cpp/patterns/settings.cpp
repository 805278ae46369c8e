// SPDX-License-Identifier: BSD-3-Clause
// patterns/settings.cpp: looks names up and rejects invalid values.
#include "patterns/settings.h"

#include <cmath>
#include <stdexcept>
#include <string>

#include "patterns/rule.h"

namespace tta::patterns {
namespace {

// "a, b, c" of what `name` reads out of each.
template <typename List, typename Name>
std::string listed(const List& list, Name&& name) {
  std::string out;
  for (const auto& item : list) {
    if (!out.empty()) out += ", ";
    out += name(item);
  }
  return out;
}

}  // namespace

PatternId pattern_named(std::string_view name) {
  for (const auto& p : patterns()) {
    if (p.name == name) return p.id;
  }
  throw std::invalid_argument(
      "there is no pattern '" + std::string(name) +
      "'; there are: " + listed(patterns(), [](const auto& p) { return p.name; }));
}

Settings::Settings() {
  for (const auto* rule : rules()) {
    Rule set;
    for (const auto& threshold : rule->thresholds)
      set.values.push_back(threshold.value);
    rules_.push_back(std::move(set));
  }
}

void Settings::set(std::string_view pattern, std::string_view threshold, double value) {
  const auto id = pattern_named(pattern);
  const auto known = thresholds(id);
  for (std::size_t i = 0; i < known.size(); ++i) {
    if (known[i].name != threshold) continue;
    if (!std::isfinite(value) || value < 0) {
      throw std::invalid_argument(std::string(pattern) + "." + std::string(threshold) +
                                  " must be a number from 0 on, in " +
                                  std::string(known[i].unit));
    }
    const auto most = known[i].unit == "share"     ? 1
                      : known[i].unit == "percent" ? 100
                                                   : 0;
    if (most > 0 && value > most) {
      throw std::invalid_argument(std::string(pattern) + "." + std::string(threshold) +
                                  " is a " + std::string(known[i].unit) +
                                  " and must be at most " + std::to_string(most));
    }
    rules_[static_cast<std::size_t>(id)].values[i] = value;
    return;
  }
  throw std::invalid_argument(
      "the rule of " + std::string(pattern) + " has no threshold '" +
      std::string(threshold) +
      "'; it has: " + listed(known, [](const auto& t) { return t.name; }));
}

void Settings::enable(std::string_view pattern, bool on) {
  rules_[static_cast<std::size_t>(pattern_named(pattern))].enabled = on;
}

std::span<const Threshold> thresholds(PatternId pattern) {
  return rules()[static_cast<std::size_t>(pattern)]->thresholds;
}

}  // namespace tta::patterns

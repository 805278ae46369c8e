// SPDX-License-Identifier: BSD-3-Clause
// replay/control.cpp: compares two shares, and how likely the one is by the other.
#include "replay/control.h"

#include <cmath>

namespace tta::replay {
namespace {

// Between 2.2 (94 % against 42 %, weak) and 4.6 (23 % against 5 %, usable), about the
// geometric mean.
constexpr double kTimesChance = 3;
constexpr double kMostLikely = 0.01;

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

// How likely `least` or more of n come out, each with probability p, 0 < p < 1.
double at_least(std::uint64_t least, std::uint64_t n, double p) {
  // The first term as a logarithm, for it may be too small for a number.
  auto log_term = static_cast<double>(n - least) * std::log1p(-p);
  for (std::uint64_t k = 1; k <= least; ++k) {
    log_term +=
        std::log(static_cast<double>(n - least + k) / static_cast<double>(k) * p);
  }
  auto term = std::exp(log_term), sum = term;
  for (auto k = least; k < n; ++k) {
    term *= static_cast<double>(n - k) / static_cast<double>(k + 1) * p / (1 - p);
    sum += term;
  }
  return sum;
}

}  // namespace

double Control::rate() const { return share(found, delays); }
double Control::chance() const { return share(by_chance, tries); }

bool Control::believed() const {
  // Where no try found anything, the next might have.
  const auto p = share(by_chance + 1, tries + 1);
  if (found == 0 || rate() < kTimesChance * p) return false;
  return at_least(found, delays, p) < kMostLikely;
}

bool Control::plausible() const {
  return found > 0 && rate() >= kTimesChance * chance();
}

std::int64_t moment_of(std::uint64_t seed, std::uint64_t n, std::int64_t length) {
  // SplitMix64 (Steele, Lea, Flood: OOPSLA '14, doi 10.1145/2660193.2660195).
  auto x = seed + (n + 1) * 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  x ^= x >> 31;
  return static_cast<std::int64_t>(x % static_cast<std::uint64_t>(length));
}

}  // namespace tta::replay

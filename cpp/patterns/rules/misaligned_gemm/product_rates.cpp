// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/misaligned_gemm/product_rates.cpp: classes, medians, comparison.
#include "patterns/rules/misaligned_gemm/product_rates.h"

#include <algorithm>
#include <cmath>

#include "timeline/median.h"

namespace tta::patterns {

ProductRates::Class ProductRates::class_of(const Product& p) {
  return {static_cast<int>(std::floor(std::log2(p.flops))),
          static_cast<int>(std::floor(std::log2(p.intensity())))};
}

void ProductRates::add(const Product& product, double time) {
  rates_[class_of(product)].push_back(product.flops / time);
}

void ProductRates::settle(double min_peers) {
  for (auto& [key, rates] : rates_) {
    if (static_cast<double>(rates.size()) < min_peers) continue;
    medians_[key] = timeline::upper_median(rates);
  }
}

const ProductRates::Best& ProductRates::best_for(Class own) {
  const auto [it, fresh] = best_.try_emplace(own);
  if (!fresh) return it->second;
  for (const auto& [key, rate] : medians_) {
    if (key.first > own.first) break;  // by work: all that follow have more
    auto& best = key.second <= own.second ? it->second.alike : it->second.other;
    best = std::max(best, rate);
  }
  return it->second;
}

double ProductRates::due(const Product& product, double bandwidth) {
  const auto& best = best_for(class_of(product));
  const auto alike = best.alike > 0 ? product.flops / best.alike : 0;
  if (best.other <= 0 || bandwidth <= 0) return alike;
  const auto other = std::max(product.flops / best.other, product.bytes / bandwidth);
  return alike > 0 ? std::min(alike, other) : other;
}

}  // namespace tta::patterns

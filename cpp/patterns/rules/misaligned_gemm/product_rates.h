// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/misaligned_gemm/product_rates.h: how fast matrix products of a trace
// ran, to judge others by.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "patterns/matrix_kernels.h"

namespace tta::patterns {

/// Rates of the products of one device and type. They are kept by classes, powers of
/// two of the work and of the work a byte, so that no cost grows with the square of the
/// shapes.
class ProductRates {
 public:
  /// Adds a product that took `time` nanoseconds (positive).
  void add(const Product& product, double time);

  /// Takes each class's median, leaving out those of fewer than `min_peers`. Call it
  /// once, after the last add().
  void settle(double min_peers);

  /// Returns the nanoseconds that a product should take after those of its class or
  /// below; 0 if there are none.
  ///
  /// Those with no more work a byte have it harder in both ways: their best rate is
  /// due. At the rate of others, memory could be the limit: `bandwidth`, in bytes a
  /// nanosecond, is what it can do; if 0, they do not count. The shorter time is due.
  double due(const Product& product, double bandwidth);

 private:
  using Class = std::pair<int, int>;
  /// Best rates, FLOPs a nanosecond, for the products of a class; 0 without peers.
  struct Best {
    double alike = 0;  ///< With no more work a byte.
    double other = 0;  ///< All others.
  };
  static Class class_of(const Product& product);
  const Best& best_for(Class own);

  std::map<Class, std::vector<double>> rates_;
  std::map<Class, double> medians_;
  std::map<Class, Best> best_;  // as far as asked for
};

}  // namespace tta::patterns

// SPDX-License-Identifier: BSD-3-Clause
// detector/model.h: the model that ships: a network and its stack, in one file.
#pragma once

#include <memory>
#include <string>

#include "detector/detector.h"
#include "detector/stack_file.h"

namespace tta::detector {

/// A network, and how it is read together with trees and rules. The network may be
/// trained further; no two threads may use one at once.
class Model {
 public:
  /// Throws std::invalid_argument as the checks of stack and card do.
  explicit Model(std::shared_ptr<Detector> network, Stack stack = {}, Card card = {});

  /// Reads a file that save() or Detector::save() wrote: of the latter the network
  /// speaks alone, nothing is flagged and nothing is strange. Throws WeightsError as
  /// Detector::load() does, or if the stack does not fit.
  static Model load(const std::string& path, const std::string& device,
                    const Tables& ours = own_tables());

  /// Writes all of it but the state of the network's training. Detector::load() reads
  /// the network of the file.
  void save(const std::string& path) const;

  /// Scores all windows; time and memory are those of Detector::score() and, if there
  /// are any, of the trees. `claimed` is that of read_together().
  Said say(
      const Arrays& arrays, const ScoreOptions& options = {},
      std::span<const float> claimed = {}, const Checkpoint& checkpoint = [] {}) const;

  const std::shared_ptr<Detector>& network() const { return network_; }
  const Stack& stack() const { return stack_; }
  const Card& card() const { return card_; }

 private:
  std::shared_ptr<Detector> network_;
  Stack stack_;
  Card card_;
};

}  // namespace tta::detector

// SPDX-License-Identifier: BSD-3-Clause
// detector/model.cpp: needs torch for the network it asks, and no header of it.
#include "detector/model.h"

#include <utility>

namespace tta::detector {

Model::Model(std::shared_ptr<Detector> network, Stack stack, Card card)
    : network_(std::move(network)), stack_(std::move(stack)), card_(std::move(card)) {
  check(stack_, network_->tables());
  check(card_);
}

Model Model::load(const std::string& path, const std::string& device,
                  const Tables& ours) {
  const auto file = read_tensors(path);
  auto network = std::make_shared<Detector>(Detector::load(file, device, ours));
  auto stack = read_stack(file, network->tables());
  return Model(std::move(network), std::move(stack), read_card(file));
}

void Model::save(const std::string& path) const {
  network_->save(path, false, parts_of(stack_, card_));
}

Said Model::say(const Arrays& arrays, const ScoreOptions& options,
                std::span<const float> claimed, const Checkpoint& checkpoint) const {
  const auto& matching = network_->matching();
  const auto quiet =
      silent(arrays.windows, matching.given_columns, matching.given_patterns);
  auto beside = arrays;
  beside.windows = quiet;
  auto scores = network_->score(beside, options, checkpoint);
  const auto threads = options.threads > 0 ? options.threads : usual_threads();
  std::vector<float> rows;
  if (!matching.windows.empty()) matching.add_windows(arrays.windows, rows);
  const auto windows = rows.empty() ? arrays.windows : std::span<const float>(rows);
  auto out = read_together(stack_, windows, scores.logits, claimed, network_->tables(),
                           threads, checkpoint);
  out.events = std::move(scores.events);
  out.event_shares = std::move(scores.event_shares);
  return out;
}

}  // namespace tta::detector

// SPDX-License-Identifier: BSD-3-Clause
// detector/state.h: what a Detector is made of, for those of its sources that know
// torch.
#pragma once

#include <torch/optim/adamw.h>

#include <memory>

#include "detector/detector.h"
#include "detector/network.h"
#include "detector/stack_file.h"
#include "detector/weights.h"

namespace tta::detector {

struct Detector::State {
  /// Draws weights on the CPU, so that a seed means the same anywhere.
  State(const Config& config, const Tables& tables, std::uint64_t seed,
        at::Device device);

  Config config;
  Tables tables;      ///< What the network reads and names.
  Matching matching;  ///< How arrays are read as these.
  at::Device device;
  Progress progress;
  Card card;
  std::shared_ptr<Network> network;  ///< Ready to score; a step makes it so again.
  torch::optim::AdamW optimizer;     ///< Of two groups: the first is drawn to 0.
};

/// How many threads an operation of torch uses, as long as it lives, here and in
/// threads that begin meanwhile; 0: as before.
///
/// One is best: threads wait for one another after each operation, which took 25 times
/// as long where other programs wanted the processors too.
class OperationThreads {
 public:
  explicit OperationThreads(int count);
  ~OperationThreads();
  OperationThreads(const OperationThreads&) = delete;
  OperationThreads& operator=(const OperationThreads&) = delete;

 private:
  int before_;
};

/// How exactly torch computes on a device, as long as it lives and on this thread,
/// whatever torch.autocast the caller is in: with float32, or with bfloat16 where that
/// does no harm, when weights that were converted are kept until clear_cache().
class Precision {
 public:
  Precision(at::Device device, bool bfloat16);
  ~Precision();
  Precision(const Precision&) = delete;
  Precision& operator=(const Precision&) = delete;

 private:
  at::DeviceType type_;
  bool before_;
  at::ScalarType dtype_before_;
};

/// Returns rows of `columns` values as a tensor on a device. On the CPU it is a view.
torch::Tensor rows_of(std::vector<float>& values, std::size_t columns,
                      at::Device device);

}  // namespace tta::detector

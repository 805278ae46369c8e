// SPDX-License-Identifier: BSD-3-Clause
// detector/weights.h: a network, and its training, to and from a file of tensors.
#pragma once

#include <torch/optim/adamw.h>

#include <map>
#include <string>

#include "detector/network.h"
#include "detector/tables.h"
#include "detector/tensors_file.h"

namespace tta::detector {

/// Where a training stands.
struct Progress {
  std::uint64_t seed = 0;
  std::int64_t steps = 0;
};

/// Writes the weights; with an optimizer also its state; and what else the file is to
/// hold.
void save_weights(const std::string& path, const Config& config, const Tables& tables,
                  const Network& network, const Progress& progress,
                  torch::optim::AdamW* optimizer, const TensorParts& more);

/// Returns the config of a file, once its size is found to be about that of such a
/// network: a config of a few bytes may ask for gigabytes. Throws WeightsError.
Config read_config(const TensorsFile& file, const Tables& tables);
Progress read_progress(const TensorsFile& file);

/// Fills the network, and the optimizer where the file has its state. Each weight must
/// be there, of the same shape and finite, and nothing else but a stack, which is
/// passed over. Throws WeightsError.
void load_weights(const TensorsFile& file, Network& network,
                  torch::optim::AdamW& optimizer);

}  // namespace tta::detector

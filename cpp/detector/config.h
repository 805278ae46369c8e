// SPDX-License-Identifier: BSD-3-Clause
// detector/config.h: the size of a network, and how it is trained.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "detector/tables.h"

namespace tta::detector {

// name, default, least, most, what it is
#define TTA_NETWORK_SIZES(X)                                                        \
  X(width, 128, 8, 1024, "values that describe an event and a window")              \
  X(heads, 4, 1, 64, "of each attention; divides the width")                        \
  X(layers, 4, 0, 64, "over the events of a window")                                \
  X(trace_layers, 2, 0, 64, "over the windows of a trace")                          \
  X(hidden, 256, 8, 8192, "values between the two halves of a layer")               \
  X(word_width, 32, 4, 512, "values that describe a word of a name")                \
  X(max_tokens, 128, 1, 4096, "events of a window that are read, repeats left out") \
  X(reach, 64, 1, 1024, "windows before and after that a window attends to")

// name, default, what it is; from 0 to 1
#define TTA_NETWORK_SHARES(X)                                   \
  X(dropout, 0.1, "of activations that are zeroed in training") \
  X(name_dropout, 0.1, "of events whose names are hidden in training")

/// What a network is. Part of its weights: a file says it.
struct Config {
#define TTA_SIZE(name, value, least, most, doc) std::int64_t name = value;
  TTA_NETWORK_SIZES(TTA_SIZE)
#undef TTA_SIZE
#define TTA_SHARE(name, value, doc) double name = value;
  TTA_NETWORK_SHARES(TTA_SHARE)
#undef TTA_SHARE
  /// Columns that it does without, for ablations: of windows or tokens, by name,
  /// `names` for all words of names, `causes` for all columns by cause. `parent` and
  /// `launch` take these edges away.
  std::vector<std::string> without;

  bool lacks(const std::string& column) const;
};

/// Throws std::invalid_argument, naming the field, if it makes no network. `without`
/// names columns of the tables.
void check(const Config& config, const Tables& tables = own_tables());

/// As strings, as metadata of a file hold it, and back; the latter throws
/// std::invalid_argument for what is no such number and checks the whole.
std::map<std::string, std::string> to_text(const Config& config);
Config config_from_text(const std::map<std::string, std::string>& text,
                        const Tables& tables = own_tables());

/// What each loss counts; 0: it is not worked out. See detector/step.h.
struct LossWeights {
  double any = 1;          ///< Labels of windows: is there a pattern of the CPU, GPU.
  double types = 1;        ///< Labels of windows: which.
  double recoverable = 1;  ///< Labels of windows: the share that would be saved.
  double bags = 0;         ///< Labels of traces: good or bad.
  double pairs = 0;        ///< Slow traces above their fixed twins.
  double masked = 0;       ///< No labels: tell events that are hidden.
};

/// How weights move.
struct Training {
  double learning_rate = 5e-4;
  double weight_decay = 0.01;
  std::int64_t warm_up = 50;   ///< Steps over which the rate rises from 0.
  std::int64_t steps = 1000;   ///< Over which it falls again, as a cosine, to 0.
  double clip = 1.0;           ///< Longest gradient.
  double top_share = 0.1;      ///< Of a trace's windows that speak for it.
  double masked_share = 0.15;  ///< Of events that are hidden.
  std::size_t batch_tokens = 8192;
  /// Of an operation; 0: torch's own default. More than one pays off on an otherwise
  /// idle machine, and costs much on others; two trainings at once share it better.
  int threads = 1;
  LossWeights weights;
};

/// The rate of a step, from 0 on; 0 from `steps` on.
double rate_at(const Training& training, std::int64_t step);

}  // namespace tta::detector

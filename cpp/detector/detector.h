// SPDX-License-Identifier: BSD-3-Clause
// detector/detector.h: the learned model for those who know no torch: arrays in, plain
// numbers out.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "detector/arrays.h"
#include "detector/batch.h"
#include "detector/config.h"
#include "detector/in_threads.h"
#include "detector/tables.h"
#include "detector/tensors_file.h"

namespace tta::detector {

/// The model's output for the windows of a trace: shares, 0 to 1.
struct Scores {
  std::vector<float> any;          ///< For each window: a pattern of the CPU, the GPU.
  std::vector<float> types;        ///< For each window and each pattern of the model.
  std::vector<float> recoverable;  ///< The share of its time that would be saved.
  /// Before they were made shares: Tables::outputs() for each window.
  std::vector<float> logits;
  /// For each window the tokens that its scores rest on most, most first, and their
  /// shares; -1 and 0 where it has fewer.
  std::vector<std::int64_t> events;
  std::vector<float> event_shares;
};

struct ScoreOptions {
  std::int64_t events = 0;          ///< How many events to name for each window.
  std::size_t batch_tokens = 2048;  ///< Read at once by a thread: memory grows with it.
  int threads = 0;                  ///< 0: as many as torch uses anyway.
  /// Reads windows in half precision, where that is faster. Scores differ by less than
  /// 0.01.
  bool bfloat16 = false;
};

/// What a step did. A loss without anything to learn from in the step is NaN.
struct StepResult {
  double loss = 0, any = 0, types = 0, recoverable = 0, bags = 0, pairs = 0, masked = 0;
  double gradient = 0;  ///< Length before it is cut.
  double rate = 0;
  std::int64_t step = 0;  ///< How many have been done, with this one.
};

/// A network, and the state of its training. No two threads may use one at once.
///
/// Scores depend only on weights and arrays; training only on these, the seed and the
/// number of the step. The state of torch's generators has no effect and is restored.
class Detector {
 public:
  /// Draws weights for arrays of these tables. `device` is as torch names it: "cpu",
  /// "cuda", "cuda:1". Throws std::invalid_argument if the config or the device is
  /// none.
  Detector(const Config& config, std::uint64_t seed, const std::string& device,
           const Tables& tables = own_tables());
  /// Reads a file that save() wrote, to score arrays of the tables `ours`. Throws
  /// WeightsError if it is damaged, was trained on tables that share too little with
  /// these (match()), or does not fit the network it says it is.
  ///
  /// The default of a window column is its median in training, where the file has that
  /// (Known::middle), else its mean there, as that of a figure is.
  static Detector load(const std::string& path, const std::string& device,
                       const Tables& ours = own_tables());
  /// The same of a file in memory, which may be dropped then. A model's stack is passed
  /// over (detector/model.h).
  static Detector load(const TensorsFile& file, const std::string& device,
                       const Tables& ours = own_tables());
  Detector(Detector&&) noexcept;
  Detector& operator=(Detector&&) noexcept;
  ~Detector();

  const Config& config() const;
  /// What it reads and names: those of the file that it was read from.
  const Tables& tables() const;
  const Matching& matching() const;
  std::string device() const;
  std::int64_t parameters() const;
  std::int64_t steps_done() const;
  /// The card of the file it was read from: see Card. Empty for drawn weights.
  const std::map<std::string, std::string>& card() const;

  /// Keeps the weights and forgets how they came about: the next step is the first of
  /// a training of this seed.
  void restart(std::uint64_t seed);

  /// Scores all windows; time is linear in them. Memory is one batch per thread, plus
  /// the results and a row of `width` values for each window. Scores do not depend on
  /// batches and threads except for rounding. On the CPU each thread reads its own
  /// batches; the checkpoint is called on the caller's.
  Scores score(
      const Arrays& arrays, const ScoreOptions& options = {},
      const Checkpoint& checkpoint = [] {}) const;

  /// Sets what columns are compared with: mean and deviation in these traces. Before
  /// the first step, on what is trained on.
  void fit_columns(std::span<const Arrays* const> traces);

  /// Does a step on all of the examples together: their windows are in memory at once.
  /// Throws std::invalid_argument if labels do not fit, and std::runtime_error if the
  /// loss is not a number, with the weights unchanged.
  StepResult train(
      std::span<const Example> examples, const Training& training,
      const Checkpoint& checkpoint = [] {});

  /// Writes the weights; with `training` also what a further step depends on, so that
  /// a run that was stopped ends with the same weights. `more` goes into the same file.
  void save(const std::string& path, bool training, const TensorParts& more = {}) const;

 private:
  struct State;
  explicit Detector(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// How many threads torch uses for an operation.
int usual_threads();

}  // namespace tta::detector

// SPDX-License-Identifier: BSD-3-Clause
// replay/model_reader.h: turns the edges of a model back into operations; internal to
// model_program.h.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "replay/model_program.h"
#include "replay/scheduler.h"

namespace tta::replay {

class ModelReader {
 public:
  ModelReader(const Model& model, const timeline::EventArgs& args,
              const ModelProgramOptions& options);
  virtual ~ModelReader() = default;
  Program run();
  /// When the points happen in a schedule of the program that run() returned.
  std::vector<std::int64_t> times(const Schedule& schedule) const;

 protected:
  /// For readers that put operations into a thread: called before the i-th point of the
  /// lane, which the thread reaches after `think` nanoseconds of its own. Returns how
  /// many of these the operations that were put in follow.
  virtual std::int64_t insert_before(std::uint32_t /*thread*/, std::uint32_t /*lane*/,
                                     std::size_t /*i*/, std::int64_t /*think*/) {
    return 0;
  }

  const Model& m_;
  const timeline::EventArgs& args_;
  const ModelProgramOptions options_;
  Program p_;

 private:
  // Where in the program a point of a thread is: the begin or end of an operation.
  struct Place {
    std::uint32_t thread = kNone, operation = kNone;  // none: the thread's begin
    bool at_end = false;
  };

  std::int64_t pid(std::uint32_t lane) const {
    return m_.timeline->lanes.lanes[lane].pid;
  }
  template <class Visit>
  void each_into(PointId point, Visit visit) const {
    const auto [first, last] = m_.graph.into(point);
    for (auto i = first; i < last; ++i) {
      auto e = m_.graph.edges()[i];
      if (!options_.weights.empty()) e.weight = options_.weights[i];
      if (e.weight != kAbsent) visit(e);
    }
  }

  void add_work();
  DeviceWork work(const Task& task) const;
  // A transfer is a signal where the sender's part ends; inside a call, at its begin.
  void add_signals();
  bool in(const std::vector<PointId>& sequence, PointId p) const;
  void add_thread(std::uint32_t lane);
  Operation operation(std::uint32_t call);
  // Makes a call a synchronization by what it is called, where that is sound.
  void name_wait(std::uint32_t call, Operation& op) const;

  std::vector<std::uint32_t> call_of_end_, task_of_end_;  // of points
  std::vector<const SyncCall*> wait_of_;                  // of calls
  std::vector<std::vector<std::uint32_t>> launched_;      // of calls
  std::vector<bool> all_launched_;                        // of streams
  std::map<PointId, std::uint32_t> given_;                // signals
  std::map<PointId, std::pair<std::uint32_t, std::int64_t>> awaited_;
  std::vector<Place> places_;  // of points
  std::vector<std::int64_t> thread_begin_;
  bool one_process_ = true;
};

}  // namespace tta::replay

// SPDX-License-Identifier: BSD-3-Clause
// lab/insertion_draft.h: an insertion while it is made, operation by operation.
//
// For the corpus of labeled traces (lab/corpus, source P), whose mechanisms are
// Python's: each step refuses with std::invalid_argument what it can know to be wrong,
// and leaves the draft as it was.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "lab/cpp/perturbation.h"

namespace tta::lab {

/// A call into the runtime. `category` by its name in traces, `args`: more members of
/// its row.
struct DraftedCall {
  std::string name;
  std::int64_t ns = 0;
  std::string_view category = "cuda_runtime";
  std::string args{};
};

/// Device work. `device` and `stream` as the file numbers them.
struct DraftedWork {
  TaskKind kind = TaskKind::kKernel;
  std::string name;
  std::int64_t ns = 0;
  std::int32_t device = 0;
  std::int64_t stream = 0;
  std::int64_t bytes = -1;    ///< -1: unknown.
  double blocks_per_sm = -1;  ///< -1: unknown.
  std::string args{};
};

class InsertionDraft {
 public:
  /// Into a thread as the file numbers it, see lane_of_thread(); `at`: Insertion::at.
  /// The timeline of the model must outlive the draft.
  InsertionDraft(std::shared_ptr<const Model> model, std::int64_t pid, std::int64_t tid,
                 std::int64_t at);

  /// Begins an operator, annotation or frame around what follows, until close().
  void open(std::string name, std::string_view category = "cpu_op",
            std::string args = "");
  void close();
  /// What the thread does itself; a row if it has a name.
  void host(std::int64_t ns, std::string name = "",
            std::string_view category = "cpu_op", std::string args = "");
  void call(DraftedCall call);
  /// A call that launches work and, if it `waits`, returns after it.
  void launch(DraftedCall call, DraftedWork work, bool waits);
  /// A call that waits for a stream, or for all of its device.
  void sync(DraftedCall call, std::int32_t device, std::int64_t stream,
            bool whole_device);
  /// A call that records an event in a stream, and one that waits for it.
  void event_sync(DraftedCall record, DraftedCall wait, std::int32_t device,
                  std::int64_t stream);
  /// It is done in place of this row of device work.
  void stand_for(std::uint32_t row);

  /// Throws std::invalid_argument while something is open.
  const Insertion& made() const;

 private:
  void add(Operation op, std::string_view category, std::string args);
  void add(OpKind kind, DraftedCall call, std::uint32_t id, std::uint32_t stream);
  std::uint32_t place(std::int32_t device, std::int64_t stream) const;

  Insertion in_;
  std::size_t open_ = 0;
};

}  // namespace tta::lab

// SPDX-License-Identifier: BSD-3-Clause
// write/write_inserted.h: rows of what was put into a recorded trace.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "replay/perturbation.h"
#include "write/json_text.h"

namespace tta::write {

/// Writes operators, annotations, frames, calls and device work of insertions, numbered
/// on from the recorded ones: correlation and External ids, frames with their parent;
/// flows where the trace has flows. Operators have ids only if the trace's have.
class InsertedRows {
 public:
  /// Linear in the rows. Refers to the model.
  explicit InsertedRows(const replay::Model& model);
  void write(const replay::Insertion& insertion, const replay::InsertedTimes& times,
             EventList& list);

 private:
  struct Open {
    std::int64_t external, frame;  // its ids; kNoId if it has none
  };
  void host_row(const replay::Insertion& insertion, std::size_t i,
                timeline::Interval time, EventList& list);
  void call(const replay::Insertion& insertion, std::size_t i,
            const replay::InsertedTimes& times, EventList& list);
  void complete(const char* category, const std::string& name, std::uint32_t lane,
                timeline::Interval time, const std::string& args, EventList& list);
  void flow(char phase, std::int64_t correlation, std::uint32_t lane, std::int64_t when,
            EventList& list) const;
  std::string identity(std::int64_t id) const;
  // The deepest frame of a thread around a moment.
  std::int64_t frame_around(std::uint32_t lane, std::int64_t at) const;
  std::int64_t external_of(const replay::Insertion& insertion) const;

  const replay::Model& m_;
  std::int64_t correlation_ = 0, external_ = trace::kNoId, frame_ = trace::kNoId;
  std::optional<std::string> flow_;  // what flows are called
  std::vector<Open> open_;
};

}  // namespace tta::write

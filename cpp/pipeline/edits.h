// SPDX-License-Identifier: BSD-3-Clause
// pipeline/edits.h: changes that users ask for, by name.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pipeline/recovery.h"

namespace tta::pipeline {

// id, name, what it does to the events of these names
#define TTA_EDITS(X)                                                                   \
  X(kFix, "fix", "fixes findings, given by their places in the report")                \
  X(kHide, "hide", "host events take no time: a loader that is ahead, no compilation") \
  X(kDropWaits, "drop_waits", "calls, or those inside the events, wait for nothing")   \
  X(kPin, "pin", "copies are pinned and asynchronous: their calls wait for nothing")   \
  X(kCapture, "capture", "launches inside the events become one, as of a CUDA graph")  \
  X(kScale, "scale", "device work takes `factor` of its time")                         \
  X(kDropWork, "drop_work", "device work is not done, nor launched")                   \
  X(kOverlap, "overlap",                                                               \
    "device work waits for no other stream, a host's collective for no caller")

enum class EditKind : std::uint8_t {
#define TTA_EDIT_ID(id, name, doc) id,
  TTA_EDITS(TTA_EDIT_ID)
#undef TTA_EDIT_ID
};

/// Returns the kind of this name; throws std::invalid_argument that lists all names.
EditKind edit_kind(std::string_view name);
/// Returns name and meaning of each.
std::vector<std::pair<std::string, std::string>> edit_kinds();

struct Edit {
  EditKind kind = EditKind::kFix;
  /// Ids of names in Trace::strings; for kFix, places in Report::findings.
  std::vector<std::uint32_t> of;
  double factor = 1;  ///< Of kScale, 0 to 1.
};

/// Returns the edits as one change of the trace's replay. Linear in the rows an edit.
/// Throws std::invalid_argument for a factor out of range, no such finding, or names
/// of which no event is of the kind that the edit takes.
replay::Change change_of(const Report& report, const replay::Model& model,
                         std::span<const Edit> edits);

/// A step as recorded, as replayed without a change, and with it.
struct ChangedStep {
  std::int64_t number = 0;
  std::int64_t recorded_ns = 0;
  std::int64_t replayed_ns = 0;
  std::int64_t changed_ns = 0;
};

struct Outcome {
  std::int64_t span_ns = 0;           ///< As recorded.
  std::int64_t replayed_span_ns = 0;  ///< Replayed without a change.
  std::int64_t changed_span_ns = 0;
  std::vector<ChangedStep> steps;
  replay::Gain gain;
  std::string doubt;  ///< What speaks against the gain, see longer_step; "" if nothing.
  std::vector<std::int64_t> path;  ///< Critical path afterwards, by path_categories().
  replay::WhatIf schedule;
};

/// Replays a trace with the edits made; with none, as it is.
Outcome what_if(const Report& report, const replay::Model& model,
                std::span<const Edit> edits);

}  // namespace tta::pipeline

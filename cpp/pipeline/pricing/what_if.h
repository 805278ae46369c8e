// SPDX-License-Identifier: BSD-3-Clause
// pipeline/pricing/what_if.h: a trace replayed with edits made, beside the trace as it
// is.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/pricing/price.h"

namespace tta::pipeline {

// Changes that users ask for, by name.

/// The kind of names in an edit.
enum class Takes : std::uint8_t { kFindings, kHostEvents, kDeviceWork };

// id, name, what it takes, whether most of its gain can be had (what is hidden or not
// waited for is gone at the user's own word; how much faster work can be is a guess),
// what it does to the events of these names
#define TTA_EDITS(X)                                                                  \
  X(kFix, "fix", kFindings, true, "fixes findings, by their places in the report")    \
  X(kHide, "hide", kHostEvents, true,                                                 \
    "host events take no time: a loader that is ahead, no compilation")               \
  X(kDropWaits, "drop_waits", kHostEvents, true,                                      \
    "calls, or those inside the events, wait for nothing")                            \
  X(kPin, "pin", kDeviceWork, true,                                                   \
    "copies are pinned and asynchronous: their calls wait for nothing")               \
  X(kCapture, "capture", kHostEvents, false,                                          \
    "launches inside an event become one, as of a CUDA graph")                        \
  X(kFuse, "fuse", kHostEvents, false, "kernels launched inside an event become one") \
  X(kMultiTensor, "multi_tensor", kHostEvents, false,                                 \
    "kernels of a name launched inside an event become one for many tensors")         \
  X(kBucket, "bucket", kDeviceWork, false,                                            \
    "like collectives right after each other become one")                             \
  X(kScale, "scale", kDeviceWork, false, "device work takes `factor` of its time")    \
  X(kDropWork, "drop_work", kDeviceWork, false,                                       \
    "device work is not done, nor launched")                                          \
  X(kOverlap, "overlap", kDeviceWork, false,                                          \
    "device work waits for no other stream, a host's collective for no caller")

enum class EditKind : std::uint8_t {
#define TTA_EDIT_ID(id, name, takes, certain, doc) id,
  TTA_EDITS(TTA_EDIT_ID)
#undef TTA_EDIT_ID
};

struct EditInfo {
  std::string_view name;
  Takes takes;
  bool certain;  ///< Most of the saving can be had.
};
/// The table; `edit_table()[i]` is of EditKind(i).
std::span<const EditInfo> edit_table();
inline const EditInfo& info(EditKind kind) {
  return edit_table()[static_cast<std::size_t>(kind)];
}

/// Returns the kind of this name; throws std::invalid_argument that lists all names.
EditKind edit_kind(std::string_view name);

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

struct Outcome {
  /// Scheduled by events (replay/scheduler.h) and not as a static graph: work that may
  /// overlap meets the limits of the device only there.
  bool by_events = false;
  std::int64_t span_ns = 0;           ///< As recorded.
  std::int64_t replayed_span_ns = 0;  ///< Replayed without a change.
  std::int64_t changed_span_ns = 0;
  std::vector<StepTimes> steps;
  replay::Gain gain;
  std::string doubt;  ///< What speaks against the gain, see longer_step; "" if nothing.
  /// Critical path afterwards, by path_categories(); empty of a schedule by events.
  TimesByName path;
  replay::WhatIf schedule;
};

/// Replays a trace with the edits made; with none, as it is. With kOverlap among them,
/// by events, before and after; a schedule by events that without the edits is over
/// replay::kMostStepError off is doubted.
Outcome what_if(const Report& report, const replay::Model& model,
                std::span<const Edit> edits,
                const replay::Checkpoint& checkpoint = replay::go_on);

}  // namespace tta::pipeline

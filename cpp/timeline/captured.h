// SPDX-License-Identifier: BSD-3-Clause
// timeline/captured.h: what was launched while graphs were captured, by whom.
//
// A replay is one call: its kernels have no operator and no Python frame. The capture
// has both, often in another file, so that it is held here without any trace.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "timeline/event_args.h"
#include "timeline/frames.h"

namespace tta::timeline {

/// An operator around launches. All numbers are places in a Capture; kNoRow: none.
struct CapturedOp {
  std::uint32_t name = 0;         ///< In `texts`.
  std::uint32_t inputs = kNoRow;  ///< In `inputs`.
  std::uint32_t caller = kNoRow;  ///< In `ops`, before it: the operator around it.
};

/// A launch of a kernel, a copy or a memset.
struct CapturedLaunch {
  enum class Kind : std::uint8_t { kKernel, kCopy, kSet } kind = Kind::kKernel;
  std::uint32_t name = kNoRow;  ///< Of the work, in `texts`; kNoRow of CUDA's calls.
  /// WorkArgs::grid_shape and block_shape; -1: not recorded.
  std::int64_t grid = -1, block = -1;
  std::uint32_t op = kNoRow;     ///< In `ops`: the innermost around it.
  std::uint32_t frame = kNoRow;  ///< In `frames`: the program's line.
  std::uint32_t calls = kNoRow;  ///< In `calls`: what that line called.
  std::uint32_t annotation = kNoRow;
};

/// The launches of one trace. Each text, input and frame that differs is there once.
struct Capture {
  std::string file;  ///< Name of its file without folders; "": the analyzed trace.
  std::optional<std::int64_t> batch_size;
  std::string mode;  ///< vLLM's: "FULL" or "PIECEWISE"; or "".
  std::vector<std::string> texts;
  std::vector<OpArgs> inputs;
  std::vector<Frame> frames;
  std::vector<Calls> calls;
  std::vector<CapturedOp> ops;
  /// In order of time: first those that ran at once (warm-up), then those of each
  /// capture of a stream.
  std::vector<CapturedLaunch> launches;
  std::vector<std::uint32_t> run_ends;  ///< One after the last of each of these runs.
};

/// Lists the calls that launched work into each capture of a stream, in order of time:
/// all of the process between its begin and its end, of any thread, without device work
/// of their own. A capture without an end, or one inside another, is left out. Linear
/// in the rows.
std::vector<std::vector<std::uint32_t>> stream_captures(const Timeline& timeline);

}  // namespace tta::timeline

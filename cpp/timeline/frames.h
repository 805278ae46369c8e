// SPDX-License-Identifier: BSD-3-Clause
// timeline/frames.h: the line of the user's own code that an event comes from.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tta::timeline {

struct Timeline;

/// Which line of a function a trace records.
enum class LineOf : std::uint8_t {
  kFunction,  ///< Where it begins: of a python_function event.
  kStart,     ///< Where it was when recording began, for it was running already.
  kCall,      ///< The call itself: of the Call stack of older traces.
};

constexpr auto words_of(LineOf) {
  return std::array<std::string_view, 3>{"function", "start", "call"};
}

struct Frame {
  std::string file;  ///< As the trace has it, often relative to the working folder.
  std::int64_t line = 0;
  std::string function;
  bool user = true;  ///< False if only library frames were there.
  LineOf line_of = LineOf::kFunction;

  bool operator==(const Frame&) const = default;
};

/// Reads Kineto's "path(line): function"; none for builtins, modules and other names.
std::optional<Frame> parse_frame(std::string_view name);

/// Whose code a file is.
enum class FileOwner : std::uint8_t {
  kTorch,    ///< torch, the standard library, the interpreter, this package.
  kPackage,  ///< Another installed package: a model library, a serving engine.
  kUser,
};

/// Tells by its path whose a file is. Kineto cuts the sys.path entry off, so that a
/// package is known by its first folder and the standard library by a list of names.
FileOwner owner_of_file(std::string_view file);

/// What a frame was calling, outermost first: Python functions and builtins by their
/// names in the trace, at last an operator. At most kMaxCalls; empty if it was nothing,
/// or the line of the call is recorded.
using Calls = std::vector<std::string>;
inline constexpr std::size_t kMaxCalls = 4;  // wrappers hide what is called

/// Frames of many rows; each that differs is there once.
struct SharedFrames {
  std::vector<Frame> frames;
  /// Of each requested row, its place in `frames`; kNoRow without a frame.
  std::vector<std::uint32_t> of;
  std::vector<Calls> calls;             ///< Each that differs once.
  std::vector<std::uint32_t> calls_of;  ///< Of each row, its place in `calls`.
};

/// Finds the deepest user frame above each row.
///
/// Looks at the python_function events that enclose the row on its thread, then at
/// the `Call stack` args of the operators that do (torch 1.8-2.0), then, for a
/// backward operator, at the same for its forward operator (equal sequence number),
/// then at what the process's busiest Python thread was doing at the time. A package's
/// frame is returned only if no user frame was found, one of torch only if there is
/// nothing else; both have `user` false.
///
/// Cost: linear in the rows, as those that share what is above them share the climb,
/// times the depth below the frame; plus one pass over the file if the operators at its
/// head have Call stacks. Throws what Trace::read_args throws.
SharedFrames shared_user_frames(const Timeline& timeline,
                                std::span<const std::uint32_t> rows);

/// The same with a frame for each row.
std::vector<std::optional<Frame>> user_frames(const Timeline& timeline,
                                              std::span<const std::uint32_t> rows);

}  // namespace tta::timeline

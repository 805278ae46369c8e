// SPDX-License-Identifier: BSD-3-Clause
// features/token_columns.h: the one table of the values for each event of a window.
//
// A token is an event that the window counts: an operator, a range, a runtime call or a
// piece of device work. No value is NaN: what an event does not have is -1. Units are
// those of features/window_columns.h.
//
// Edges lead to places in the arrays, across the windows of a device (or process): with
// a queue of work ahead of the device most launches lie in an earlier window, and an
// edge that is missing for that would tell how far ahead the host is. They stay within
// the device: where several are fed by one process, each has its events for itself.
#pragma once

#include <cstdint>
#include <vector>

// name, C++ type, unit, what it is divided by, when it is -1 ("": never), what it is
#define TTA_TOKENS(X)                                                                 \
  X(kind, std::uint8_t, "number", "", "", "its kind: see the table of kinds")         \
  X(piece0, std::uint16_t, "hash", "", "",                                            \
    "first distinctive word of its name; 0: none")                                    \
  X(piece1, std::uint16_t, "hash", "", "", "the second")                              \
  X(piece2, std::uint16_t, "hash", "", "", "the third")                               \
  X(piece3, std::uint16_t, "hash", "", "", "the fourth")                              \
  X(piece4, std::uint16_t, "hash", "", "", "the fifth")                               \
  X(piece5, std::uint16_t, "hash", "", "", "the sixth")                               \
  X(lane, std::uint16_t, "number", "", "",                                            \
    "its thread or stream, by first event here")                                      \
  X(lane_kind, std::uint8_t, "number", "", "",                                        \
    "0 the thread with most events here, 1 another, 2 the stream with most, 3 "       \
    "another")                                                                        \
  X(depth, std::uint8_t, "count", "", "",                                             \
    "operators and ranges around it; of device work, its launch and what is around "  \
    "that; 0 if its launch is not known, 255 at most")                                \
  X(place, float, "share", "window", "", "where in the window it starts")             \
  X(duration, float, "log2 ns", "", "", "its length")                                 \
  X(duration_ratio, float, "log2 ratio", "median of its name", "", "its length")      \
  X(gap, float, "log2 ns", "", "",                                                    \
    "since the one before it ended: on its stream, or under its parent")              \
  X(gap_ratio, float, "log2 ratio", "launch cost", "no launch cost", "the same")      \
  X(launch_delay, float, "log2 ratio", "launch cost",                                 \
    "no device work, no launch known, or no launch cost", "since its call ended")     \
  X(queue, float, "log2 count", "", "no device",                                      \
    "launched work that has not begun on the window's device at its start: a launch " \
    "counts its own, work does not")                                                  \
  X(device_busy, std::int8_t, "flag", "", "no device",                                \
    "the window's device was running something just before its start")                \
  X(waits, std::int8_t, "flag", "", "",                                               \
    "a call in which the host waited for a device")                                   \
  X(bytes, float, "log2 bytes", "", "not told", "of a copy or memset")                \
  X(blocks, float, "log2 count", "", "not told", "of a kernel's grid")                \
  X(block_threads, float, "log2 count", "", "not told", "of a kernel's block")        \
  X(elements, float, "log2 count", "", "not told",                                    \
    "of its largest input; with record_shapes, of operators that move or multiply "   \
    "data")                                                                           \
  X(parent, std::int32_t, "token", "", "none is around it",                           \
    "the token around it, also of an earlier window: its place in these arrays")      \
  X(launch, std::int32_t, "token", "", "no device work, or no launch known",          \
    "the call, also of an earlier window: its place in these arrays")                 \
  X(repeats, std::int32_t, "count", "", "",                                           \
    "its consecutive repetitions in its window, itself included; 0: it, or one "      \
    "around it, continues such a row")

namespace tta::features {

/// Words of a name that a token keeps.
inline constexpr int kPieces = 6;
/// Hashes of words are 1 to this.
inline constexpr std::uint32_t kPieceHashes = 8191;

/// Parallel vectors, all of the same length.
struct Tokens {
#define TTA_TOKEN(name, type, unit, normalization, missing, doc) std::vector<type> name;
  TTA_TOKENS(TTA_TOKEN)
#undef TTA_TOKEN

  std::size_t size() const { return kind.size(); }
  void resize(std::size_t size) {
#define TTA_RESIZE(name, type, unit, normalization, missing, doc) name.resize(size);
    TTA_TOKENS(TTA_RESIZE)
#undef TTA_RESIZE
  }
};

}  // namespace tta::features

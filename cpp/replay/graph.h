// SPDX-License-Identifier: BSD-3-Clause
// replay/graph.h: moments of a trace, their dependencies, and when they happen.
//
// A moment is a point; "v comes no earlier than w after u" is an edge (u, v, w). The
// schedule is the earliest one that keeps every edge: t[v] = max(t[u] + w), one pass in
// topological order. Integer nanoseconds, so the order of edges changes nothing.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tta::replay {

/// Where the length of an edge comes from. Most edges of a kind have the same; of a
/// rule that takes the recorded length where it is less, or where no constant fits,
/// each edge says which it was.
enum class Source : std::uint8_t {
  kCopied,      ///< A recorded length, kept: work of the host or of the device.
  kRecomputed,  ///< A rule with a constant: when it binds, a wait was recomputed.
  kAnchored,    ///< A recorded moment, kept: its cause lies outside the trace.
};

/// What says that an edge is there.
enum class Provenance : std::uint8_t {
  kRecorded,  ///< The trace: order in a thread or stream, correlation, a sync row.
  kSemantic,  ///< What the called function is documented or known to do.
  kInferred,  ///< Times alone.
};

// id, name in reports, the usual source of its length, the meaning of the edge
#define TTA_EDGE_KINDS(X)                                                              \
  X(kAnchor, "anchor", kAnchored,                                                      \
    "start of the trace -> work that nothing in it explains")                          \
  X(kThink, "think", kCopied, "end of a call -> begin of the thread's next")           \
  X(kCall, "call", kCopied, "begin -> end of a call that waits for nothing")           \
  X(kWaitCost, "wait_cost", kRecomputed, "begin -> end of a call that may wait")       \
  X(kSync, "sync", kRecomputed, "end of awaited work -> end of the call")              \
  X(kLaunch, "launch", kRecomputed, "launch call -> start of its work")                \
  X(kFifo, "fifo", kRecomputed, "end of work -> start of the stream's next")           \
  X(kQueue, "queue", kRecomputed, "start of work -> end of a launch it made room for") \
  X(kStreamWait, "stream_wait", kRecomputed,                                           \
    "end of work -> work of a waiting stream")                                         \
  X(kHandOver, "hand_over", kCopied, "end of a thread's part -> begin of another's")   \
  X(kBatch, "batch", kCopied, "batch of a loader's workers -> the next waited for")    \
  X(kContention, "contention", kCopied, "end of a kernel that left no room beside it") \
  X(kWork, "work", kCopied, "start -> end of device work")                             \
  X(kCollective, "collective", kRecomputed,                                            \
    "last rank's arrival -> end of a collective")

enum class EdgeKind : std::uint8_t {
#define TTA_EDGE_ID(id, name, source, doc) id,
  TTA_EDGE_KINDS(TTA_EDGE_ID)
#undef TTA_EDGE_ID
};

struct EdgeKindInfo {
  EdgeKind id;
  std::string_view name;
  Source source;  ///< Of an edge that does not say otherwise.
};

inline constexpr std::array kEdgeKinds = {
#define TTA_EDGE_INFO(id, name, source, doc) \
  EdgeKindInfo{EdgeKind::id, name, Source::source},
    TTA_EDGE_KINDS(TTA_EDGE_INFO)
#undef TTA_EDGE_INFO
};

constexpr const EdgeKindInfo& info(EdgeKind kind) {
  return kEdgeKinds[static_cast<std::size_t>(kind)];
}

/// Kinds to leave out: bit n is EdgeKind n.
using KindSet = std::uint32_t;
constexpr KindSet bit(EdgeKind kind) { return KindSet{1} << static_cast<int>(kind); }

using PointId = std::uint32_t;
/// The moment from which all times count: a graph always has it, at time 0.
inline constexpr PointId kOrigin = 0;
/// The weight of an edge that is not there.
inline constexpr std::int64_t kAbsent = std::numeric_limits<std::int64_t>::min() / 4;

struct Edge {
  PointId from = kOrigin;
  PointId to = kOrigin;
  std::int64_t weight = 0;  ///< Nanoseconds; may be negative.
  EdgeKind kind = EdgeKind::kThink;
  Provenance provenance = Provenance::kRecorded;
  Source source = Source::kCopied;
  /// Its weight includes a delay that no rule explains (Model::late of `to`).
  bool delayed = false;
};
static_assert(sizeof(Edge) == 24);

/// Edges that go round in a circle: there is no schedule. what() names their kinds.
struct CycleError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Graph {
 public:
  /// Sorts the edges of `points` points, the origin among them. Linear. Throws
  /// CycleError, and std::out_of_range for an edge to no point.
  Graph(std::size_t points, std::vector<Edge> edges);

  std::size_t points() const { return first_.size() - 1; }
  /// By destination, destinations in topological order; edge numbers are places here.
  const std::vector<Edge>& edges() const { return edges_; }
  /// Returns the edges into a point, as numbers [first, second).
  std::pair<std::uint32_t, std::uint32_t> into(PointId point) const {
    return {first_[place_[point]], first_[place_[point] + 1]};
  }
  /// Points in topological order.
  const std::vector<PointId>& order() const { return order_; }

  /// Returns the weight of each edge, absent for the kinds left out.
  std::vector<std::int64_t> weights(KindSet without = 0) const;

  /// Returns when each point happens under these edge weights; a point with no edge
  /// into it happens at 0. O(points + edges). Safe from several threads.
  std::vector<std::int64_t> schedule(std::span<const std::int64_t> weights) const;

  /// Returns the edge that `point` waits for in a schedule made by `weights`, the first
  /// of those that tie; kNoEdge if it waits for none.
  std::uint32_t binding(PointId point, std::span<const std::int64_t> weights,
                        std::span<const std::int64_t> times) const;
  static constexpr std::uint32_t kNoEdge = 0xffffffff;

 private:
  std::vector<Edge> edges_;
  std::vector<PointId> order_;
  std::vector<std::uint32_t> place_;  // of each point in order_
  std::vector<std::uint32_t> first_;  // of each place: its first edge
};

}  // namespace tta::replay

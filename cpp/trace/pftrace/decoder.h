// SPDX-License-Identifier: BSD-3-Clause
// trace/pftrace/decoder.h: the events of packets, with the texts that packets before
// gave numbers to.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/columns.h"
#include "trace/pftrace/packets.h"

namespace tta::trace::pftrace {

/// A track, as its descriptors have it.
struct Track {
  std::uint64_t parent = 0;
  bool has_process = false, has_thread = false;
  std::int64_t pid = 0, tid = 0;
  std::string name, labels;  ///< Its own, or that of its process or thread.
  std::int64_t sort = 0;     ///< 0: none.
  std::int64_t ts = kNoTime;
  std::int64_t multiplier = 1;  ///< Of a counter.
  bool incremental = false;
};

/// Args that tell what kind of event it is, where no category does.
enum class Hint : std::uint8_t {
  kPythonId,
  kSyncKind,
  kCallId,
  kGrid,
  kCorrelation,
  kOperator,
};

/// An event, valid while it is handled.
struct TrackEvent {
  enum class Kind : std::uint8_t { kBegin, kEnd, kInstant, kCounter, kWork, kLegacy };
  Kind kind = Kind::kInstant;
  std::int64_t ts = kNoTime;   ///< Nanoseconds.
  std::int64_t dur = kNoTime;  ///< Of kWork and kLegacy.
  std::uint64_t number = 0;    ///< Of kBegin and kEnd: how many of its kind precede it.
  std::uint64_t track = 0;     ///< Not of kWork, and of counters of a GPU.
  std::string_view name, category;
  std::string args;  ///< Members of JSON, `"key":value,...`.
  std::uint32_t hints = 0;
  std::vector<std::uint64_t> flows, ends_of_flows;
  std::string value;  ///< Of kCounter: a number of JSON.
  std::int64_t gpu = -1;
  std::string queue;  ///< Of kWork: JSON of its stream.
  char phase = 'i';   ///< Of kLegacy.
  std::uint64_t id = 0;

  bool has(Hint hint) const { return (hints >> static_cast<int>(hint) & 1) != 0; }
};

/// Keeps what later packets refer to: tracks, texts, clocks. Memory grows with these.
class Decoder {
 public:
  using Take = std::function<void(const TrackEvent&)>;
  /// Without `with_args` the args of beginnings stay empty, which saves most of the
  /// time.
  explicit Decoder(bool with_args, Take take)
      : with_args_(with_args), take_(std::move(take)) {}

  /// Calls `take` for each event of a packet. Throws BadPacket if it breaks the form,
  /// or refers to a text that is not there; numbers of later events do not depend on
  /// that, nor on `with_args`.
  void packet(std::string_view bytes);

  const std::map<std::uint64_t, Track>& tracks() const { return tracks_; }
  /// Key and JSON of what describes the whole trace.
  const std::vector<std::pair<std::string, std::string>>& metadata() const {
    return metadata_;
  }

 private:
  enum Table { kNames, kCategories, kKeys, kStrings, kSpecs, kKernels, kArgs, kTables };
  struct ClockState {
    std::int64_t now = 0, offset = 0, unit = 1;  // offset: to the trace's clock
    bool incremental = false;
  };
  struct GpuCounterSet {
    std::int64_t gpu = 0;
    std::map<std::uint64_t, std::string> names;
  };
  // What packets of one sequence tell later ones of it.
  struct Sequence {
    std::array<std::unordered_map<std::uint64_t, std::string>, kTables> texts;
    std::map<std::uint64_t, GpuCounterSet> gpu_counters;
    std::map<std::uint32_t, ClockState> clocks;
    std::uint64_t track = 0;
    std::uint32_t clock = 0;
    std::int64_t reference_ns = 0;
  };

  void read(std::string_view bytes);
  void interned(std::string_view bytes, Sequence& sequence);
  void add_text(std::string_view bytes, Sequence& sequence, Table table);
  void defaults(std::string_view bytes, Sequence& sequence);
  void track(std::string_view bytes, std::int64_t ts);
  void snapshot(std::string_view bytes, Sequence& sequence);
  void chrome(std::string_view bytes);
  void event(std::string_view bytes, Sequence& sequence, TrackEvent& out);
  void legacy(std::string_view bytes, Sequence& sequence, TrackEvent& out);
  void work(std::string_view bytes, Sequence& sequence, TrackEvent& out);
  void extra(std::string_view bytes, TrackEvent& out);
  void launch(std::string_view bytes, Sequence& sequence, TrackEvent& out);
  void add_counters(std::string_view bytes, Sequence& sequence);
  void gpu_counters(std::string_view bytes, Sequence& sequence, TrackEvent& out);
  void annotation(std::string_view bytes, Sequence& sequence, TrackEvent& out,
                  int depth, bool has_key);
  std::string_view text(const Sequence& sequence, Table table, std::uint64_t id) const;
  std::int64_t time(std::int64_t ts, std::uint32_t clock, Sequence& sequence);

  const bool with_args_;
  const Take take_;
  std::unordered_map<std::uint32_t, Sequence> sequences_;
  std::map<std::uint64_t, Track> tracks_;
  std::map<std::uint32_t, ClockState> clocks_;
  std::uint32_t reference_clock_ = 0;
  std::vector<std::pair<std::string, std::string>> metadata_;
  std::uint64_t begins_ = 0, ends_ = 0;
};

}  // namespace tta::trace::pftrace

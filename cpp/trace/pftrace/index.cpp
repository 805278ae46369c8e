// SPDX-License-Identifier: BSD-3-Clause
// trace/pftrace/index.cpp: beginnings and ends of each track, and tracks of tracks.
#include "trace/pftrace/index.h"

#include <algorithm>
#include <limits>
#include <span>
#include <string_view>
#include <unordered_map>

#include "trace/json_out.h"

namespace tta::trace::pftrace {
namespace {

constexpr auto kNone = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kBytesBetween = std::uint64_t{4} << 20;

struct Half {
  std::int64_t ts;
  std::uint64_t number;
  std::uint32_t track;
  bool is_end;
};

// Collects the halves of slices, then makes pairs.
class Slices {
 public:
  void add(const TrackEvent& event) {
    const auto track =
        tracks_.try_emplace(event.track, static_cast<std::uint32_t>(tracks_.size()))
            .first->second;
    if (event.kind == TrackEvent::Kind::kBegin) {
      if (in_run_ > 0) run_.clear();
      in_run_ = 0;
      run_.push_back({event.ts, event.number, track, false});
      begins_.resize(event.number + 1, kNoTime);
      begins_[event.number] = event.ts;
    } else {
      partners_.resize(event.number + 1, kNone);
      if (in_run_ < run_.size() && run_[in_run_].track == track) {
        partners_[event.number] = run_[in_run_++].number;
      } else {
        run_.clear();
        in_run_ = 0;
      }
      if (!event.args.empty()) args_.emplace(event.number, event.args);
    }
    if (event.ts == kNoTime) return;
    halves_.push_back(
        {event.ts, event.number, track, event.kind == TrackEvent::Kind::kEnd});
  }

  void pair(Index& index) {
    index.durations.assign(begins_.size(), kNoTime);
    index.strays.assign(partners_.size(), true);
    std::ranges::stable_sort(halves_, {}, &Half::track);
    for (std::size_t first = 0; first < halves_.size();) {
      auto last = first;
      while (last < halves_.size() && halves_[last].track == halves_[first].track) {
        ++last;
      }
      pair_track(std::span(halves_).subspan(first, last - first), index);
      first = last;
    }
  }

 private:
  void pair_track(std::span<Half> halves, Index& index) {
    if (!std::ranges::is_sorted(halves, {}, &Half::ts)) {
      if (has_partners(halves)) {
        for (const auto& half : halves) {
          if (half.is_end) close(partners_[half.number], half, index);
        }
        return;
      }
      std::ranges::stable_sort(
          halves, {}, [](const Half& h) { return std::pair(h.ts, !h.is_end); });
    }
    open_.clear();
    for (const auto& half : halves) {
      if (!half.is_end) {
        open_.push_back(half.number);
      } else if (!open_.empty()) {
        close(open_.back(), half, index);
        open_.pop_back();
      }
    }
  }

  bool has_partners(std::span<const Half> halves) const {
    const auto ends = std::ranges::count_if(halves, &Half::is_end);
    return 2 * ends == std::ssize(halves) &&
           std::ranges::all_of(halves, [&](const Half& half) {
             if (!half.is_end) return true;
             const auto partner = partners_[half.number];
             return partner != kNone && begins_[partner] != kNoTime &&
                    begins_[partner] <= half.ts;
           });
  }

  void close(std::uint64_t begin, const Half& end, Index& index) {
    // Of times that a file states: no overflow.
    index.durations[begin] =
        static_cast<std::int64_t>(static_cast<std::uint64_t>(end.ts) -
                                  static_cast<std::uint64_t>(begins_[begin]));
    index.strays[end.number] = false;
    const auto args = args_.find(end.number);
    if (args != args_.end()) {
      index.args_of_ends.emplace(begin, std::move(args->second));
    }
  }

  std::unordered_map<std::uint64_t, std::uint32_t> tracks_;
  std::vector<Half> halves_, run_;
  std::size_t in_run_ = 0;  // how many of the run have ended
  std::vector<std::int64_t> begins_;
  std::vector<std::uint64_t> partners_, open_;
  std::map<std::uint64_t, std::string> args_;
};

}  // namespace

Index make_index(TextReader& bytes, bool recover,
                 const std::function<void()>& between) {
  Index index;
  Slices slices;
  Decoder decoder(false, [&](const TrackEvent& event) {
    switch (event.kind) {
      case TrackEvent::Kind::kBegin:
      case TrackEvent::Kind::kEnd:
        slices.add(event);
        break;
      case TrackEvent::Kind::kWork:
        if (event.category == "gpu_user_annotation") {
          index.annotations.emplace(event.name);
        }
        break;
      default:
        break;
    }
  });
  Packets packets(bytes, recover);
  std::uint64_t next = 0;
  while (const auto packet = packets.next()) {
    if (packets.size() >= next) {
      between();
      next = packets.size() + kBytesBetween;
    }
    try {
      decoder.packet(*packet);
    } catch (const BadPacket& bad) {
      if (!packets.skip(bad.what())) break;
    }
  }
  slices.pair(index);
  index.tracks = decoder.tracks();
  index.metadata = decoder.metadata();
  return index;
}

Place place_of(const Index& index, std::uint64_t uuid) {
  Place place;
  const auto unnamed = [](std::uint64_t id) { return "track " + std::to_string(id); };
  const auto own = index.tracks.find(uuid);
  if (own == index.tracks.end()) {
    place.pid = json_string(unnamed(uuid));
    place.tid = "0";
    return place;
  }
  place.track = &own->second;
  const auto name = own->second.name.empty() ? unnamed(uuid) : own->second.name;
  const auto note = [&](const Track& process) {
    place.is_overhead = place.is_overhead || process.name == "Overhead";
    place.is_device = place.is_device || process.name.starts_with("GPU ") ||
                      process.labels.starts_with("GPU ");
  };
  // Tracks that are their own parents end the walk, too.
  constexpr int kHighest = 64;
  const Track* track = place.track;
  for (int height = 0;; ++height) {
    const auto parent = index.tracks.find(track->parent);
    const bool is_root =
        track->parent == 0 || parent == index.tracks.end() || height == kHighest;
    if (track->has_thread && place.pid.empty()) {
      place.pid = std::to_string(track->pid);
      place.tid = std::to_string(track->tid);
    } else if (track->has_process) {
      if (place.pid.empty()) {
        place.pid = std::to_string(track->pid);
        place.tid = height == 0 ? "0" : json_string(name);
      }
      note(*track);
      return place;
    }
    if (is_root) {
      if (place.pid.empty()) {
        place.pid = json_string(height == 0 ? name : track->name);
        place.tid = height == 0 ? "0" : json_string(name);
      }
      return place;
    }
    track = &parent->second;
  }
}

}  // namespace tta::trace::pftrace

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
  std::uint32_t is_end : 1;
  std::uint32_t losses : 31;  // before it in the file
};

// Collects the halves of slices, then makes pairs.
class Slices {
 public:
  void add(const TrackEvent& event) {
    const auto track =
        tracks_.try_emplace(event.track, static_cast<std::uint32_t>(tracks_.size()))
            .first->second;
    if (event.kind == TrackEvent::Kind::kBegin) {
      if (!run_ends_.empty()) end_run(false);
      run_.push_back({event.ts, event.number, track, 0, 0});
      begins_.resize(event.number + 1, kNoTime);
      begins_[event.number] = event.ts;
    } else {
      partners_.resize(event.number + 1, kNone);
      const auto place = run_ends_.size();
      if (place < run_.size() && run_[place].track == track) {
        partners_[event.number] = run_[place].number;
        run_ends_.push_back(event.number);
      } else {
        end_run(false);
      }
      if (!event.args.empty()) args_.emplace(event.number, event.args);
    }
    if (event.ts == kNoTime) return;
    const bool is_end = event.kind == TrackEvent::Kind::kEnd;
    halves_.push_back({event.ts, event.number, track, is_end, losses_});
  }

  // A packet is lost, which may have begun or ended anything.
  void lose() {
    losses_ = (losses_ + 1) & 0x7fffffff;
    end_run(true);
  }

  // `is_cut`: more ends may be missing.
  void pair(Index& index, bool is_cut) {
    end_run(is_cut);
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
  // Fewer ends than beginnings are no such run, unless the others are lost.
  void end_run(bool is_cut) {
    if (run_ends_.size() < run_.size() && !is_cut) {
      for (const auto end : run_ends_) partners_[end] = kNone;
    }
    run_.clear();
    run_ends_.clear();
  }

  void pair_track(std::span<Half> halves, Index& index) {
    if (!std::ranges::is_sorted(halves, {}, &Half::ts)) {
      const auto has_one = [&](const Half& half) { return has_partner(half); };
      if (losses_ > 0 || std::ranges::all_of(halves, has_one)) {
        for (const auto& half : halves) {
          if (half.is_end && has_one(half)) close(partners_[half.number], half, index);
        }
        return;
      }
      std::ranges::stable_sort(
          halves, {}, [](const Half& h) { return std::pair(h.ts, !h.is_end); });
    }
    open_.clear();
    std::uint32_t losses = 0;
    for (const auto& half : halves) {
      if (half.losses != losses) open_.clear();
      losses = half.losses;
      if (!half.is_end) {
        open_.push_back(half.number);
      } else if (!open_.empty()) {
        close(open_.back(), half, index);
        open_.pop_back();
      }
    }
  }

  // Whether an end has one, and a beginning needs none.
  bool has_partner(const Half& half) const {
    if (!half.is_end) return true;
    const auto partner = partners_[half.number];
    return partner != kNone && begins_[partner] != kNoTime &&
           begins_[partner] <= half.ts;
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
  std::vector<std::uint64_t> run_ends_;
  std::uint32_t losses_ = 0;
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
  const Damage* damage = nullptr;
  std::uint64_t losses = 0;
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
    damage = packets.damage();
    if (damage != nullptr && std::exchange(losses, damage->times) != damage->times) {
      slices.lose();
    }
  }
  slices.pair(index, packets.damage() != nullptr);
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

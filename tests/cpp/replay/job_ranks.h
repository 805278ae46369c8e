// SPDX-License-Identifier: BSD-3-Clause
// replay/job_ranks.h: ranks written by hand, as jobs are made of.
#pragma once

#include <string>
#include <vector>

#include "replay/rank_work.h"

namespace tta::test {

/// A rank that works and meets others, one after the other; times in nanoseconds.
class RankByHand {
 public:
  explicit RankByHand(std::int64_t rank, std::int64_t begin = 0) : at_(begin) {
    work_.rank = rank;
    work_.recorded.push_back(begin);
  }

  /// Works in "host" code of a name; several follow on each other.
  RankByHand& works(const std::string& name, std::int64_t ns) {
    std::uint32_t place = 0;
    while (place < work_.places.size() && work_.places[place].name != name) ++place;
    if (place == work_.places.size()) work_.places.push_back({"host", {}, name});
    pending_.push_back({place, ns});
    at_ += ns;
    return *this;
  }
  /// Is in a collective of group "0" until `end`.
  RankByHand& meets(const std::string& name, std::int64_t sequence, std::int64_t end,
                    const std::string& group = "0") {
    replay::RankCollective collective;
    collective.group = group;
    collective.name = name;
    collective.sequence = sequence;
    return add(std::move(collective), end);
  }
  /// Sends to a peer, or receives, until `end`.
  RankByHand& message(const std::string& name, std::int64_t peer, std::int64_t end) {
    replay::RankCollective collective;
    collective.name = name;
    collective.peer = peer;
    return add(std::move(collective), end);
  }
  /// Ends a step, which began where the one before ended.
  RankByHand& step(std::int64_t number) {
    const auto begin = step_begin_;
    step_begin_ = stop();
    work_.steps.push_back({number, begin, step_begin_});
    for (auto& c : work_.collectives) {
      if (c.step < 0) c.step = number;
    }
    return *this;
  }
  RankByHand& stage(std::int64_t number) {
    work_.stage = number;
    return *this;
  }
  RankByHand& host(const std::string& name) {
    work_.host = name;
    return *this;
  }
  operator replay::RankWork() const { return work_; }  // NOLINT: that is its use

 private:
  // A stop where it is now, after all that it did since the one before.
  std::uint32_t stop() {
    const auto to = static_cast<std::uint32_t>(work_.recorded.size());
    const auto first = static_cast<std::uint32_t>(work_.parts.size());
    std::int64_t ns = 0;
    for (const auto& part : pending_) ns += part.ns;
    work_.parts.insert(work_.parts.end(), pending_.begin(), pending_.end());
    pending_.clear();
    work_.passages.push_back(
        {to - 1, to, ns, first, static_cast<std::uint32_t>(work_.parts.size())});
    work_.recorded.push_back(at_);
    return to;
  }
  RankByHand& add(replay::RankCollective collective, std::int64_t end) {
    collective.begin = stop();
    collective.end = collective.begin + 1;
    at_ = end;
    work_.recorded.push_back(end);
    work_.collectives.push_back(std::move(collective));
    return *this;
  }

  replay::RankWork work_;
  std::vector<replay::WorkPart> pending_;
  std::int64_t at_;
  std::uint32_t step_begin_ = 0;
};

}  // namespace tta::test

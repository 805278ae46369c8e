// SPDX-License-Identifier: BSD-3-Clause
// replay/change.cpp: what is taken away, as edits of weights in an order that makes
// them a set.
#include "replay/change.h"

#include <algorithm>

#include "replay/collective_order.h"
#include "replay/weight_edits.h"

namespace tta::replay {
namespace {

using timeline::Interval;

template <class Map>
void take_in(Map& into, const Map& from) {
  for (const auto& [lane, set] : from) {
    auto& all = into[lane];
    all.insert(all.end(), set.begin(), set.end());
  }
}

}  // namespace

void Change::hide(std::uint32_t lane, Interval time) { hidden_[lane].push_back(time); }
void Change::skip(std::uint32_t lane, Interval time) { skipped_[lane].push_back(time); }
void Change::drop_waits(std::uint32_t lane, Interval time) {
  unwaited_[lane].push_back(time);
}
void Change::shorten(std::uint32_t row, Interval part) {
  shortened_[row].push_back(part);
}
void Change::untie(std::uint32_t row) { untied_.insert(row); }
void Change::drop(std::uint32_t row) { dropped_.insert(row); }
void Change::merge(std::uint32_t row) { merged_.insert(row); }

void Change::add(const Change& other) {
  take_in(hidden_, other.hidden_);
  take_in(skipped_, other.skipped_);
  take_in(unwaited_, other.unwaited_);
  take_in(shortened_, other.shortened_);
  untied_.insert(other.untied_.begin(), other.untied_.end());
  dropped_.insert(other.dropped_.begin(), other.dropped_.end());
  merged_.insert(other.merged_.begin(), other.merged_.end());
}

bool Change::empty() const {
  return hidden_.empty() && skipped_.empty() && unwaited_.empty() &&
         shortened_.empty() && untied_.empty() && dropped_.empty() && merged_.empty();
}

std::vector<std::uint32_t> Change::needless_calls(const Model& m) const {
  std::map<std::uint32_t, std::uint32_t> of_call;
  for (const auto row : dropped_) {
    const auto task = row < m.tasks.of_row.size() ? m.tasks.of_row[row] : kNone;
    if (task != kNone && m.tasks.all[task].call != kNone) {
      ++of_call[m.tasks.all[task].call];
    }
  }
  std::vector<std::uint32_t> out;
  for (const auto& [call, count] : of_call) {
    if (count == m.tasks.of_call[call]) out.push_back(call);
  }
  return out;
}

std::vector<std::uint32_t> Change::left_out(const Model& m) const {
  std::vector<std::uint32_t> out(dropped_.begin(), dropped_.end());
  for (const auto call : needless_calls(m)) out.push_back(m.calls.all[call].row);
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<std::int64_t> Change::weights(const Model& m) const {
  WeightEdits edit(m);
  for (const auto row : dropped_) edit.drop(row);
  auto skipped = skipped_;
  for (const auto call : needless_calls(m)) {
    const auto& c = m.calls.all[call];
    skipped[c.lane].push_back({c.begin, c.end});
  }
  // Both at once would take the same time twice.
  for (const auto& [lane, set] : hidden_) {
    auto own = timeline::unite(set);
    if (const auto it = skipped.find(lane); it != skipped.end()) {
      own = timeline::subtract(own, timeline::unite(it->second));
    }
    edit.hide(lane, own, false);
  }
  for (const auto& [lane, set] : skipped) {
    edit.hide(lane, timeline::unite(set), true);
  }
  for (const auto& [lane, set] : unwaited_) edit.drop_waits(lane, timeline::unite(set));
  for (const auto& [row, parts] : shortened_) {
    if (dropped_.contains(row)) continue;
    edit.shorten(row, timeline::unite(parts));
  }
  for (const auto row : untied_) edit.untie(row);
  for (const auto row : merged_) {
    if (!dropped_.contains(row)) edit.merge(row);
  }
  for (const auto row : dropped_) edit.keep_order(row);
  for (const auto& [row, parts] : shortened_) edit.keep_order(row);
  begin_when_ready(m, untied_, edit.weights);
  return std::move(edit.weights);
}

}  // namespace tta::replay

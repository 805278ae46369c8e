// SPDX-License-Identifier: BSD-3-Clause
// pipeline/edits.cpp: finds the events that an edit names, and tells the replay.
#include "pipeline/edits.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "patterns/fix.h"

namespace tta::pipeline {
namespace {

using replay::kNone;
using timeline::Interval;

class Editor {
 public:
  Editor(const Report& r, const replay::Model& m)
      : r_(r), m_(m), t_(*r.timeline), c_(t_.columns()) {}

  replay::Change run(std::span<const Edit> edits) {
    for (const auto& edit : edits) {
      if (edit.kind == EditKind::kFix) {
        fix(edit);
        continue;
      }
      if (!(edit.factor >= 0 && edit.factor <= 1)) {
        throw std::invalid_argument("a factor is from 0 to 1");
      }
      std::vector<char> named(t_.trace->strings.size(), 0);
      for (const auto id : edit.of) {
        if (id < named.size()) named[id] = 1;
      }
      const bool host = of_host(edit.kind);
      bool any = false;
      for (std::uint32_t row = 0; row < c_.size(); ++row) {
        if (!named[c_.name[row]] || t_.lanes.lane[row] == timeline::kNoLane) continue;
        const bool collective = edit.kind == EditKind::kOverlap &&
                                replay::is_backend_range(t_.trace->name(row));
        if (t_.lanes.on_stream(row) == host && !collective) continue;
        any = true;
        host ? edit_host(edit, row) : edit_work(edit, row);
      }
      if (!any) {
        throw std::invalid_argument(
            edit_kinds()[static_cast<std::size_t>(edit.kind)].first +
            (host ? " takes names of host events, and these are none"
                  : " takes names of device work, and these are none"));
      }
    }
    return std::move(change_);
  }

 private:
  static bool of_host(EditKind kind) {
    return kind == EditKind::kHide || kind == EditKind::kDropWaits ||
           kind == EditKind::kCapture;
  }

  void fix(const Edit& edit) {
    for (const auto i : edit.of) {
      if (i >= r_.findings.size()) {
        throw std::invalid_argument("there is no finding " + std::to_string(i));
      }
      change_.add(patterns::fix_of(t_, r_.patterns, r_.findings[i]));
    }
  }

  void edit_work(const Edit& edit, std::uint32_t row) {
    const Interval time{c_.ts[row], c_.end(row)};
    switch (edit.kind) {
      case EditKind::kScale: {
        const auto left = static_cast<double>(time.length()) * edit.factor;
        change_.shorten(row, {time.begin + static_cast<std::int64_t>(left), time.end});
        break;
      }
      case EditKind::kDropWork:
        change_.drop(row);
        break;
      case EditKind::kOverlap:
        change_.untie(row);
        break;
      case EditKind::kPin: {
        const auto task = m_.tasks.of_row[row];
        const auto call = task == kNone ? kNone : m_.tasks.all[task].call;
        if (call == kNone || c_.cat(row) != trace::Category::kGpuMemcpy) break;
        const auto& c = m_.calls.all[call];
        change_.drop_waits(c.lane, {c.begin, c.begin + 1});
        break;
      }
      default:
        break;
    }
  }

  void edit_host(const Edit& edit, std::uint32_t row) {
    const auto lane = t_.lanes.lane[row];
    const Interval time{c_.ts[row], std::max(c_.ts[row] + 1, t_.tree.end(c_, row))};
    if (edit.kind == EditKind::kHide) change_.skip(lane, time);
    if (edit.kind == EditKind::kDropWaits) change_.drop_waits(lane, time);
    if (edit.kind == EditKind::kCapture) capture(lane, time);
  }

  // The first launch stays for all of them, with what the thread did before it.
  void capture(std::uint32_t lane, Interval time) {
    const auto& calls = m_.calls.all;
    auto it = std::lower_bound(calls.begin(), calls.end(), std::pair(lane, time.begin),
                               [](const replay::Call& c, const auto& key) {
                                 return std::pair(c.lane, c.begin) < key;
                               });
    std::int64_t from = -1, to = -1;
    for (; it != calls.end() && it->lane == lane && it->begin < time.end; ++it) {
      const auto call = static_cast<std::uint32_t>(it - calls.begin());
      if (m_.tasks.of_call[call] == 0) continue;
      if (from < 0) from = it->end;
      to = it->end;
    }
    if (to > from && from >= 0) change_.hide(lane, {from, to});
  }

  const Report& r_;
  const replay::Model& m_;
  const timeline::Timeline& t_;
  const trace::Columns& c_;
  replay::Change change_;
};

}  // namespace

namespace {

// Those of which most can be had: what is hidden or not waited for at the user's own
// word, and findings that say so. How much faster work can be is a guess.
std::vector<Edit> certain(const Report& r, std::span<const Edit> edits) {
  std::vector<Edit> out;
  for (auto edit : edits) {
    if (edit.kind == EditKind::kFix) {
      std::erase_if(edit.of, [&](auto i) {
        return !may_be_counted_on(r.patterns, r.findings[i]);
      });
    } else if (edit.kind != EditKind::kHide && edit.kind != EditKind::kDropWaits &&
               edit.kind != EditKind::kPin) {
      continue;
    }
    out.push_back(std::move(edit));
  }
  return out;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> edit_kinds() {
  return {
#define TTA_EDIT_TEXT(id, name, doc) {name, doc},
      TTA_EDITS(TTA_EDIT_TEXT)
#undef TTA_EDIT_TEXT
  };
}

EditKind edit_kind(std::string_view name) {
  std::string known;
  const auto kinds = edit_kinds();
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (kinds[i].first == name) return static_cast<EditKind>(i);
    known += (i == 0 ? "" : ", ") + kinds[i].first;
  }
  throw std::invalid_argument("there is no edit '" + std::string(name) +
                              "'; there are: " + known);
}

replay::Change change_of(const Report& r, const replay::Model& m,
                         std::span<const Edit> edits) {
  return Editor(r, m).run(edits);
}

Outcome what_if(const Report& r, const replay::Model& m, std::span<const Edit> edits) {
  Outcome out;
  const replay::Pricer pricer(m);
  const auto recorded = m.recorded();
  const auto& before = pricer.unchanged();
  out.schedule = pricer.replay(change_of(r, m, edits));
  const auto& after = out.schedule;
  out.span_ns = replay::span_of(recorded);
  out.replayed_span_ns = before.span;
  out.changed_span_ns = after.span;
  for (const auto& s : m.steps) {
    out.steps.push_back({s.number, recorded[s.end] - recorded[s.begin],
                         before.times[s.end] - before.times[s.begin],
                         after.times[s.end] - after.times[s.begin]});
  }
  out.gain = pricer.gain(after);
  out.gain.low = pricer.gain(pricer.replay(change_of(r, m, certain(r, edits)))).low;
  if (const auto longer = pricer.longer_step(after)) {
    out.doubt = longer->detail;
  }
  out.path =
      path_categories_of(m, replay::critical_path(m, after.weights, after.times,
                                                  replay::last_point(after.times)));
  return out;
}

}  // namespace tta::pipeline

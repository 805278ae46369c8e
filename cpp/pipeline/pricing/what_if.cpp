// SPDX-License-Identifier: BSD-3-Clause
// pipeline/pricing/what_if.cpp: two schedules, and what one has over the other.
#include "pipeline/pricing/what_if.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <tuple>

#include "patterns/fix.h"
#include "pipeline/pricing/path_rows.h"
#include "replay/accept.h"
#include "replay/fewer_launches.h"
#include "replay/model_program.h"

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
      if (!(edit.factor >= 0 && edit.factor <= 1)) {
        throw std::invalid_argument("a factor is from 0 to 1");
      }
      if (info(edit.kind).takes == Takes::kFindings) {
        fix(edit);
        continue;
      }
      auto rows = rows_of(edit);
      if (edit.kind == EditKind::kBucket) {
        replay::bucket(m_, rows, change_);
        continue;
      }
      if (info(edit.kind).takes == Takes::kHostEvents) keep_outermost(rows);
      for (const auto row : rows) {
        info(edit.kind).takes == Takes::kHostEvents ? edit_host(edit, row)
                                                    : edit_work(edit, row);
      }
    }
    return std::move(change_);
  }

 private:
  // The events that an edit names.
  std::vector<std::uint32_t> rows_of(const Edit& edit) const {
    std::vector<char> named(t_.trace->strings.size(), 0);
    for (const auto id : edit.of) {
      if (id < named.size()) named[id] = 1;
    }
    const bool host = info(edit.kind).takes == Takes::kHostEvents;
    std::vector<std::uint32_t> rows;
    for (std::uint32_t row = 0; row < c_.size(); ++row) {
      if (!named[c_.name[row]] || t_.lanes.lane[row] == timeline::kNoLane) continue;
      const bool collective =
          edit.kind == EditKind::kOverlap && t_.named(row, timeline::Name::kBackend);
      if (t_.lanes.on_stream(row) != host || collective) rows.push_back(row);
    }
    // What an edit is for, among all device work.
    std::string of;
    if (edit.kind == EditKind::kPin) {
      std::erase_if(rows, [&](auto row) { return !t_.is_copy(row); });
      of = "copies";
    } else if (edit.kind == EditKind::kBucket) {
      std::erase_if(rows, [&](auto row) { return !t_.is_communication(row); });
      of = "collectives";
    } else {
      of = host ? "host events" : "device work";
    }
    if (rows.empty()) {
      throw std::invalid_argument(std::string(info(edit.kind).name) +
                                  " takes names of " + of +
                                  ", and none of these matches");
    }
    return rows;
  }

  // What an edit does inside an event it does inside those within as well.
  void keep_outermost(std::vector<std::uint32_t>& rows) const {
    const auto key = [&](std::uint32_t row) {
      return std::tuple(t_.lanes.lane[row], c_.ts[row], -t_.tree.end(c_, row));
    };
    std::sort(rows.begin(), rows.end(),
              [&](auto a, auto b) { return key(a) < key(b); });
    auto lane = timeline::kNoLane;
    std::int64_t reached = 0;
    std::erase_if(rows, [&](auto row) {
      const auto end = t_.tree.end(c_, row);
      if (t_.lanes.lane[row] == lane && end <= reached) return true;
      lane = t_.lanes.lane[row];
      reached = end;
      return false;
    });
  }

  void fix(const Edit& edit) {
    for (const auto i : edit.of) {
      if (i >= r_.findings.size()) {
        throw std::invalid_argument("there is no finding " + std::to_string(i));
      }
      change_.add(patterns::fix_of(m_, r_.patterns, r_.findings[i], room_));
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
        change_.pin(c.lane, timeline::wait_around(t_.waits, c.lane, c.begin));
        break;
      }
      default:
        break;
    }
  }

  void edit_host(const Edit& edit, std::uint32_t row) {
    const auto lane = t_.lanes.lane[row];
    const Interval time{c_.ts[row], std::max(c_.ts[row] + 1, t_.tree.end(c_, row))};
    using replay::Fusion;
    switch (edit.kind) {
      case EditKind::kHide:
        change_.skip(lane, time);
        break;
      case EditKind::kDropWaits:
        change_.drop_waits(lane, time);
        break;
      case EditKind::kCapture:
        replay::capture(m_, lane, time, change_);
        break;
      case EditKind::kFuse:
        replay::fuse(m_, lane, time, Fusion::kAll, change_);
        break;
      case EditKind::kMultiTensor:
        replay::fuse(m_, lane, time, Fusion::kSameName, change_);
        break;
      default:
        break;
    }
  }

  const Report& r_;
  const replay::Model& m_;
  patterns::OverlapRoom room_{*r_.timeline};
  const timeline::Timeline& t_;
  const trace::Columns& c_;
  replay::Change change_;
};

}  // namespace

std::span<const EditInfo> edit_table() {
  static constexpr EditInfo kTable[] = {
#define TTA_EDIT_INFO(id, name, takes, certain, doc) {name, Takes::takes, certain},
      TTA_EDITS(TTA_EDIT_INFO)
#undef TTA_EDIT_INFO
  };
  return kTable;
}

EditKind edit_kind(std::string_view name) {
  std::string known;
  const auto table = edit_table();
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (table[i].name == name) return static_cast<EditKind>(i);
    known += (i == 0 ? "" : ", ") + std::string(table[i].name);
  }
  throw std::invalid_argument("there is no edit '" + std::string(name) +
                              "'; there are: " + known);
}

replay::Change change_of(const Report& r, const replay::Model& m,
                         std::span<const Edit> edits) {
  return Editor(r, m).run(edits);
}

namespace {

// How much of a replay's saving edits give: fixes as trust_of their findings, by what
// each saves; the user's own as TTA_EDITS says, of a host alone nothing for sure.
struct Trusts {
  std::optional<replay::Trust> own;
  JointTrust fixes;

  // An edit beside a fix makes the range wider, but takes nothing from what is sure.
  void set_range(replay::Gain& gain) const {
    if (!fixes.any()) return replay::set_range(gain, own.value_or(replay::Trust{}));
    auto trust = fixes.get();
    if (own) {
      trust = {std::min(own->low, trust.low), std::min(own->middle, trust.middle),
               std::max(own->high, trust.high)};
    }
    fixes.set_range(gain, trust);
  }
};

Trusts trusts_of(const Report& r, std::span<const Edit> edits) {
  constexpr replay::Trust kCertain{0.75, 0.9, 1}, kGuess{0, 0.75, 1};
  Trusts out;
  for (const auto& edit : edits) {
    if (edit.kind == EditKind::kFix) {
      for (const auto i : edit.of) {
        const auto& f = r.findings.at(i);
        out.fixes.add(trust_of(r, f), f.gain, f.wasted_ns);
      }
    } else if (!info(edit.kind).certain || r.timeline->host) {
      out.own = kGuess;
    } else if (!out.own) {
      out.own = kCertain;
    }
  }
  return out;
}

// The schedules by events, of `least` if it has weights; returns the reason to doubt
// them, "" if there is none.
std::string schedule_by_events(const Report& r, const replay::Model& m,
                               replay::WhatIf& before, replay::WhatIf& after,
                               replay::WhatIf& least,
                               const replay::Checkpoint& checkpoint) {
  try {
    for (auto* each : {&before, &after, &least}) {
      if (each->weights.empty()) continue;
      replay::ModelProgramOptions options;
      options.weights = each->weights;
      options.checkpoint = checkpoint;
      each->times = replay::schedule_by_events(m, *r.args, options);
      each->span = replay::span_of(each->times);
    }
  } catch (const std::runtime_error& error) {  // a deadlock
    return std::string("the replay by events fails: ") + error.what();
  }
  const replay::Times span{replay::span_of(m.recorded()), before.span};
  if (replay::error(span) > replay::kMostStepError) {
    return "the replay by events is " + replay::percent(replay::error(span)) +
           " off without the edits";
  }
  // What waits for less cannot make a step longer, unless what it let go takes the
  // place of the step's own work: then it is the wrong work to let go.
  for (std::size_t i = 1; i < m.steps.size(); ++i) {
    if (const auto by = replay::longer_by(m.steps[i], before.times, after.times)) {
      return replay::longer_text(m.steps[i], *by, "overlapped work delays it");
    }
  }
  return "";
}

}  // namespace

Outcome what_if(const Report& r, const replay::Model& m, std::span<const Edit> edits,
                const replay::Checkpoint& checkpoint) {
  Outcome out;
  const replay::Pricer pricer(m);
  const auto change = change_of(r, m, edits);  // refuses what makes no sense
  const auto trusts = trusts_of(r, edits);
  auto before = pricer.unchanged();
  checkpoint();
  out.schedule = pricer.replay(change);
  auto& after = out.schedule;
  // Without device work nothing but the graph knows the host's collectives.
  out.by_events =
      !m.tasks.all.empty() && std::any_of(edits.begin(), edits.end(), [](auto& edit) {
        return edit.kind == EditKind::kOverlap;
      });
  if (out.by_events) {
    replay::WhatIf least;
    if (auto weights = pricer.guarded(after)) least.weights = *std::move(weights);
    out.doubt = schedule_by_events(r, m, before, after, least, checkpoint);
    out.gain.replayed = std::max<std::int64_t>(0, before.span - after.span);
    out.gain.at_least = out.gain.replayed;
    if (!least.times.empty()) {
      out.gain.at_least =
          std::clamp<std::int64_t>(before.span - least.span, 0, out.gain.replayed);
    }
    out.gain.span = before.span;
    trusts.set_range(out.gain);
    out.gain.recomputed = out.gain.inferred = -1;
  } else {
    out.gain = pricer.gain(after, {});
    trusts.set_range(out.gain);
    if (const auto longer = pricer.longer_step(after)) out.doubt = longer->detail;
    const auto begin = *std::min_element(after.times.begin() + 1, after.times.end());
    out.path = path_categories_of(
        m, replay::critical_path(m, after.weights, after.times,
                                 replay::last_point(after.times), begin));
  }
  checkpoint();
  const auto recorded = m.recorded();
  out.span_ns = replay::span_of(recorded);
  out.replayed_span_ns = before.span;
  out.changed_span_ns = after.span;
  for (const auto& s : m.steps) {
    out.steps.push_back(
        {s.number, s.length(recorded), s.length(before.times), s.length(after.times)});
  }
  return out;
}

}  // namespace tta::pipeline

// SPDX-License-Identifier: BSD-3-Clause
// pipeline/verdicts/unexplained_findings.cpp: windows that the model flags and no rule
// explains, by the line of the event that it attends to most.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "patterns/rule.h"
#include "pipeline/accounting/finding_id.h"
#include "pipeline/verdicts/verdicts.h"
#include "timeline/frames.h"

namespace tta::pipeline {
namespace {

constexpr const char* kUnexplained = "unexplained";
// The rest is one finding without a place, as for rules.
constexpr std::size_t kMostPlaces = 10;
constexpr std::size_t kMostEvents = 8;
constexpr const char* kAdvice =
    "No rule knows the cause: look at these events in the timeline (--html) or in "
    "Perfetto. If it is harmless, or you find the cause, torchtraceap analyze --review "
    "FILE lists such windows so that you can label them.";

// Windows with one place.
struct Group {
  std::vector<std::uint32_t> windows;
  std::optional<timeline::Frame> frame;
  std::string name;  // of the operator or event, where no line is known
};

// "1 window", "2,000 windows".
std::string windows_text(std::size_t count) {
  auto digits = std::to_string(count);
  for (auto at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits + (count == 1 ? " window" : " windows");
}

class ModelFindings {
 public:
  ModelFindings(const Report& report, const ModelScores& scores,
                const Verdicts& verdicts)
      : report_(report), scores_(scores), verdicts_(verdicts) {}

  // Puts runs of one place together: that of the event which the attention rests on
  // most, in the window of which the model is surest.
  std::vector<Group> groups() const {
    const auto runs = this->runs();
    std::vector<std::uint32_t> rows;  // of those runs that have one
    std::vector<std::int64_t> row_of;
    for (const auto& run : runs) {
      row_of.push_back(verdicts_.events_each == 0 ? -1 : events(surest(run))[0]);
      if (row_of.back() >= 0) rows.push_back(static_cast<std::uint32_t>(row_of.back()));
    }
    const auto frames = timeline::user_frames(*report_.timeline, rows);
    std::vector<Group> out;
    using Line = std::tuple<std::string, std::int64_t, std::string>;
    std::map<Line, std::size_t> by_line;
    std::map<std::string, std::size_t> by_name;
    std::size_t next = 0;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      Group group;
      if (row_of[i] >= 0) {
        group.frame = frames[next];
        if (!group.frame) group.name = report_.timeline->trace->name(rows[next]);
        ++next;
      }
      const auto& frame = group.frame;
      const auto [at, is_new] =
          frame ? place_of(by_line, Line{frame->file, frame->line, frame->function},
                           out.size())
                : place_of(by_name, group.name, out.size());
      if (is_new) out.push_back(std::move(group));
      out[at].windows.insert(out[at].windows.end(), runs[i].begin(), runs[i].end());
    }
    return out;
  }

  // What the model guesses could be saved of some windows, in microseconds.
  double saved_us(const std::vector<std::uint32_t>& chosen) const {
    double out = 0;
    for (const auto window : chosen) {
      out += static_cast<double>(scores_.recoverable[window]) * length_us(window);
    }
    return out;
  }

  Finding finding(Group group) {
    auto& chosen = group.windows;
    std::sort(chosen.begin(), chosen.end());
    const auto surest = this->surest(chosen);
    const std::size_t side = strength(surest, 1) > strength(surest, 0);
    Finding out;
    out.id = id_of_place(kUnexplained, group.frame, group.name, ids_);
    out.pattern = kUnexplained;
    out.side = side == 1 ? PatternSide::kGpu : PatternSide::kCpu;
    out.count = chosen.size();
    out.basis = Basis::kModel;
    if (group.frame) out.location = location_of(*group.frame);
    out.operator_ = group.name;
    out.message = message(chosen, surest, side);
    out.advice = kAdvice;
    out.windows = chosen;
    for (const auto row : rows_of(chosen)) {
      out.events.push_back(event_of(*report_.timeline->trace, row));
    }
    for (const auto window : chosen) {
      const auto& pid = report_.windows[window].pid;
      if (pid && std::find(out.processes.begin(), out.processes.end(), *pid) ==
                     out.processes.end()) {
        out.processes.push_back(*pid);
      }
    }
    out.origin = Origin::kModel;
    out.docs = "docs/detector.md";
    return out;
  }

 private:
  template <typename Key>
  static std::pair<std::size_t, bool> place_of(std::map<Key, std::size_t>& places,
                                               const Key& key, std::size_t end) {
    const auto [found, is_new] = places.try_emplace(key, end);
    return {found->second, is_new};
  }

  // Neighbors of one device or process.
  std::vector<std::vector<std::uint32_t>> runs() const {
    std::vector<std::vector<std::uint32_t>> out;
    for (std::uint32_t i = 0; i < report_.windows.size(); ++i) {
      if (verdicts_.unexplained[i] == 0) continue;
      const auto& window = report_.windows[i];
      const auto goes_on = [&] {
        if (out.empty() || out.back().back() + 1 != i) return false;
        const auto& last = report_.windows[i - 1];
        return last.device == window.device && last.pid == window.pid;
      };
      if (!goes_on()) out.emplace_back();
      out.back().push_back(i);
    }
    return out;
  }

  float strength(std::uint32_t window, std::size_t side) const {
    const auto at = 2 * std::size_t{window} + side;
    return verdicts_.flagged[at] != 0 ? verdicts_.probability[at] : -1;
  }
  float strength(std::uint32_t window) const {
    return std::max(strength(window, 0), strength(window, 1));
  }
  std::uint32_t surest(const std::vector<std::uint32_t>& windows) const {
    return *std::max_element(windows.begin(), windows.end(),
                             [&](auto a, auto b) { return strength(a) < strength(b); });
  }
  std::span<const std::int64_t> events(std::uint32_t window) const {
    return std::span(verdicts_.events)
        .subspan(window * verdicts_.events_each, verdicts_.events_each);
  }
  double length_us(std::uint32_t window) const {
    const auto& w = report_.windows[window];
    return static_cast<double>(w.end_ns - w.start_ns) / 1e3;
  }

  // The events of the surest windows first, each once.
  std::vector<std::uint32_t> rows_of(std::vector<std::uint32_t> chosen) const {
    std::stable_sort(chosen.begin(), chosen.end(),
                     [&](auto a, auto b) { return strength(a) > strength(b); });
    std::vector<std::uint32_t> out;
    std::set<std::int64_t> seen;
    for (const auto window : chosen) {
      for (const auto row : events(window)) {
        if (row < 0 || !seen.insert(row).second) continue;
        if (out.size() == kMostEvents) return out;
        out.push_back(static_cast<std::uint32_t>(row));
      }
    }
    return out;
  }

  std::string message(const std::vector<std::uint32_t>& chosen, std::uint32_t surest,
                      std::size_t side) const {
    double length = 0;
    for (const auto window : chosen) length += length_us(window);
    const auto at = 2 * std::size_t{surest} + side;
    const auto probability = static_cast<double>(verdicts_.probability[at]);
    const auto& guess = scores_.patterns[static_cast<std::size_t>(verdicts_.guess[at])];
    return "No rule explains " + windows_text(chosen.size()) + " here (" +
           patterns::duration_text_us(length) +
           "). The learned detector reports, with a probability of " +
           (chosen.size() > 1 ? "up to " : "") + patterns::share_text(probability) +
           ", that something on the " + (side == 1 ? "GPU" : "CPU") +
           "'s side costs 5 % and more, most likely " + guess + ". It guesses that " +
           patterns::duration_text_us(saved_us(chosen)) +
           " could be saved. The events are those that it attended to most.";
  }

  const Report& report_;
  const ModelScores& scores_;
  const Verdicts& verdicts_;
  std::set<std::string> ids_;
};

}  // namespace

std::vector<Finding> unexplained_findings(const Report& report,
                                          const ModelScores& scores,
                                          const Verdicts& verdicts) {
  ModelFindings findings(report, scores, verdicts);
  auto groups = findings.groups();
  std::stable_sort(groups.begin(), groups.end(), [&](const Group& a, const Group& b) {
    return findings.saved_us(a.windows) > findings.saved_us(b.windows);
  });
  if (groups.size() > kMostPlaces) {
    Group rest;
    for (auto i = kMostPlaces; i < groups.size(); ++i) {
      const auto& windows = groups[i].windows;
      rest.windows.insert(rest.windows.end(), windows.begin(), windows.end());
    }
    groups.resize(kMostPlaces);
    groups.push_back(std::move(rest));
  }
  std::vector<Finding> out;
  for (auto& group : groups) out.push_back(findings.finding(std::move(group)));
  return out;
}

}  // namespace tta::pipeline

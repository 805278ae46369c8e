// SPDX-License-Identifier: BSD-3-Clause
// pipeline/quality/serving_checks.cpp: one check for each thing that was to be
// recorded.
#include "pipeline/quality/serving_checks.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>

#include "patterns/rule.h"
#include "pipeline/quality/quality.h"
#include "timeline/engine_steps.h"

namespace tta::pipeline {
namespace {

using patterns::count_text;

// Kernels after the last step's scope beyond this share were delivered late.
constexpr double kMostLate = 0.5;
constexpr const char* kWorkAfterSteps = "work_after_steps";

class ServingChecks {
 public:
  ServingChecks(const Report& report, const timeline::EventArgs& args,
                std::string_view engine)
      : report_(report),
        args_(args),
        engine_(engine),
        t_(*report.timeline),
        steps_(timeline::list_engine_steps(t_)) {}

  std::vector<RecordingCheck> run() {
    find_steps();
    if (!t_.devices.empty()) {
      find_engine();
      find_graphs();
      if (!steps_.empty()) find_burst();
    }
    const bool sound = report_.quality.verdict == Verdict::kOk;
    const auto worst = std::ranges::find(report_.quality.warnings,
                                         report_.quality.verdict, &Note::verdict);
    add("complete", sound,
        worst == report_.quality.warnings.end() ? "" : worst->detail);
    if (!t_.devices.empty()) {
      add("shapes", has_shapes(),
          "No inputs of operators: kernels cannot be held against the device's peaks. "
          "Record with shapes.");
    }
    add("no_stacks", !has_stacks(),
        "Python stacks slow the host down: take times from a recording without them.");
    return std::move(out_);
  }

 private:
  void add(const char* name, bool passed, std::string detail) {
    out_.push_back({name, passed, passed ? std::string() : std::move(detail)});
  }

  void find_steps() {
    const auto decoding = static_cast<std::size_t>(
        std::ranges::count_if(steps_, &timeline::EngineStep::decodes));
    add("steps", !steps_.empty(),
        t_.devices.empty()
            ? "The trace has no device work: record with the device's activities."
            : "No step of vLLM, SGLang or ATOM has device work: annotations of steps "
              "were not recorded, or this is not the process that runs the model.");
    if (t_.devices.empty()) return;
    add("decode_steps", decoding >= timeline::kEnoughSteps,
        decoding == 0
            ? "No decode step is in the trace: record longer, or take the "
              "file of the decode stage."
            : count_text(decoding, "decode step", "decode steps") + ", fewer than " +
                  std::to_string(timeline::kEnoughSteps) + ": record more iterations.");
  }

  void find_engine() {
    if (steps_.empty()) return;
    const auto found = timeline::engine_of(steps_);
    const auto lower = [](char c) {
      return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    };
    const bool same = std::ranges::equal(found, engine_, {}, lower);
    add("engine", same,
        "The steps are those of " + std::string(found) +
            (found == "ATOM" ? "." : ": check with its name."));
  }

  void find_graphs() {
    const bool in_step =
        std::ranges::any_of(steps_, [](const timeline::EngineStep& step) {
          return step.decodes() && step.graph_launches > 0;
        });
    const bool decodes = std::ranges::any_of(steps_, &timeline::EngineStep::decodes);
    add("graphs", in_step,
        !decodes ? "No decode step is in the trace that could have launched one."
                 : "No decode step launched a CUDA graph: the server ran in eager "
                   "mode, which is "
                   "not how it serves.");
    const auto coverage = timeline::graph_coverage(t_);
    add("graph_work", coverage.enough(),
        count_text(coverage.launches - coverage.with_work, "launch", "launches") +
            " of " + std::to_string(coverage.launches) +
            " of graphs have no device work in the trace: replays were lost.");
  }

  void find_burst() {
    const auto burst =
        std::ranges::find(report_.quality.warnings, kWorkAfterSteps, &Note::kind);
    const bool found = burst != report_.quality.warnings.end();
    add("in_time", !found, found ? burst->detail : std::string());
  }

  bool has_shapes() const {
    for (const auto& d : t_.devices) {
      for (const auto row : d.rows) {
        const auto op = t_.owner_of(row);
        if (op == timeline::kNoRow) continue;
        const auto* inputs = args_.op(op);
        if (inputs != nullptr && !inputs->dims.empty()) return true;
      }
    }
    return false;
  }

  bool has_stacks() const {
    const auto& c = t_.columns();
    return std::ranges::any_of(t_.lanes.rows, [&](auto row) {
      return c.cat(row) == trace::Category::kPythonFunction;
    });
  }

  const Report& report_;
  const timeline::EventArgs& args_;
  std::string_view engine_;
  const timeline::Timeline& t_;
  std::vector<timeline::EngineStep> steps_;
  std::vector<RecordingCheck> out_;
};

}  // namespace

void find_work_after_steps(const timeline::Timeline& t, Quality& q) {
  const auto steps = timeline::list_engine_steps(t);
  // Of few steps much of the work comes after the last scope anyway.
  if (steps.size() < timeline::kEnoughSteps) return;
  std::int64_t last = steps.front().host.end;
  for (const auto& step : steps) last = std::max(last, step.host.end);
  // Not that of others: a program may train after it has decoded.
  std::size_t all = 0, after = 0;
  for (const auto& step : steps) {
    all += step.work.size();
    after += static_cast<std::size_t>(std::ranges::count_if(
        step.work, [&](auto row) { return t.columns().ts[row] > last; }));
  }
  if (share(after, all) <= kMostLate) return;
  add(q, Verdict::kDegraded, kWorkAfterSteps, after,
      of(after, all) +
          " kernels and copies of the engine's steps start after the last step: they "
          "were delivered in a burst, and their times are not those of the steps.");
}

std::vector<RecordingCheck> check_serving(const Report& report,
                                          const timeline::EventArgs& args,
                                          std::string_view engine) {
  return ServingChecks(report, args, engine).run();
}

}  // namespace tta::pipeline

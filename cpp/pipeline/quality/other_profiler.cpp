// SPDX-License-Identifier: BSD-3-Clause
// pipeline/quality/other_profiler.cpp: Chrome traces that torch.profiler did not write.
//
// Many programs write this format: Chrome, VizTracer, py-spy, TensorFlow, JAX. No
// single member is in all of torch's traces from 1.4 on, so one of many will do.
#include <algorithm>
#include <array>
#include <string_view>

#include "pipeline/quality/quality.h"
#include "timeline/names.h"

namespace tta::pipeline {
namespace {

using trace::Category;

// Members beside traceEvents that Kineto or torch writes, or torchtraceap itself.
constexpr std::array kMembers = {
    "schemaVersion", "deviceProperties", "baseTimeNanoseconds", "distributedInfo",
    "record_shapes", "with_stack",       "profile_memory",      "torchtraceap"};
// In names, also of events without a category, as before torch 1.8: their processes
// are "CPU functions" and "CUDA functions".
constexpr auto kNames = {"ProfilerStep#", "PyTorch Profiler", "aten::", "CPU functions",
                         "CUDA functions"};

bool is_torchs(const trace::Trace& t) {
  const auto& c = t.columns;
  const auto has = [&](const char* key) { return !t.metadata_json(key).empty(); };
  if (std::ranges::any_of(kMembers, has)) return true;
  for (std::uint32_t row = 0; row < c.size(); ++row) {
    if (c.cat(row) != Category::kUnknown) return true;
  }
  for (std::uint32_t id = 0; id < t.strings.size(); ++id) {
    if (timeline::contains_any(t.strings.view(id), kNames)) return true;
  }
  return false;
}

// Who else may have written it: by a member, a category or the name of a process.
const char* writer_of(const trace::Trace& t, std::string_view categories) {
  if (!t.metadata_json("viztracer_metadata").empty()) return "VizTracer";
  if (categories.find("py-spy") != categories.npos) return "py-spy";
  for (std::uint32_t id = 0; id < t.strings.size(); ++id) {
    if (t.strings.view(id).starts_with("NEGOTIATE_"))
      return "Horovod, whose timelines `torchtraceap analyze` reads";
  }
  for (std::uint32_t text = 0; text < t.kept_args.size(); ++text) {
    const auto args = t.kept_args.text(text);
    if (timeline::contains_any(args, {"/device:", "/host:"})) {
      return "TensorFlow or JAX";
    }
    if (timeline::contains_any(args, {"CrBrowserMain", "CrRendererMain"})) {
      return "Chrome";
    }
  }
  return nullptr;
}

// The names in the loader's warning of categories.
std::string_view categories_of(const trace::Trace& t) {
  for (const auto& w : t.warnings) {
    if (w.kind != "unknown_category") continue;
    const std::string_view text = w.detail;
    const auto from = text.find(": "), to = text.rfind(" (first");
    if (from < to && to != text.npos) return text.substr(from + 2, to - from - 2);
  }
  return {};
}

}  // namespace

bool find_other_profiler(const timeline::Timeline& t, Quality& q) {
  const auto& trace = *t.trace;
  const auto& phase = trace.columns.phase;
  const auto events = static_cast<std::uint64_t>(
      std::ranges::count_if(phase, [](char ph) { return ph != 'M'; }));
  if (events == 0 || trace.left_out > 0 || is_torchs(trace)) return false;
  const auto categories = categories_of(trace);
  const auto* writer = writer_of(trace, categories);
  std::string text = "This is a Chrome trace, but not one of torch.profiler";
  if (writer != nullptr) text += std::string(": it looks like one of ") + writer;
  text += ". Of its " + std::to_string(events) +
          " events none has a category that torch writes";
  if (!categories.empty()) text += " (they have " + std::string(categories) + ")";
  text +=
      ". Record the program with torch.profiler, or torchtraceap.profile(), and give "
      "the file that it exports.";
  add(q, Verdict::kUnusable, "other_profiler", events, text);
  return true;
}

}  // namespace tta::pipeline

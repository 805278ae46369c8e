// SPDX-License-Identifier: BSD-3-Clause
// timeline/spans.h: the stretches of host time that torch names: steps, the data
// loader, the optimizer, and what users mark with record_function.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "timeline/lanes.h"
#include "trace/trace.h"

namespace tta::timeline {

/// What a named span is. Names are torch's own, stable since 1.8.
enum class SpanKind : std::uint8_t {
  kStep,        ///< ProfilerStep#N.
  kLoader,      ///< enumerate(DataLoader)#X.__next__, enumerate(DataPipe)#X.
  kOptimizer,   ///< Optimizer.step#X.step, Optimizer.zero_grad#X.zero_grad.
  kAnnotation,  ///< Any other user_annotation: record_function, collectives, compiled.
};

struct Span {
  SpanKind kind;
  std::uint32_t row;
  std::int64_t begin;
  std::int64_t end;
  std::int64_t number = -1;  ///< N of a step.
};

struct Spans {
  std::vector<Span> steps, loader, optimizer, annotations;  ///< Each by start.
};

/// Returns N of the name "ProfilerStep#N", nothing for any other name.
std::optional<std::int64_t> step_number(std::string_view name);

/// Collects the spans of all threads. torch 1.8 records them as operators, later
/// versions as user_annotation; their copies on the device are not taken.
Spans make_spans(const trace::Trace& trace, const Lanes& lanes);

}  // namespace tta::timeline

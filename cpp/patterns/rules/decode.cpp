// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/decode.cpp: the rules on the host's time in and between decode steps,
// which share what patterns/decode_steps.h finds; each claims the idle time of its
// cause. Those on the steps' work are in decode_work.cpp.
//
// Options by name as of vLLM 0.14 (January 2026: asynchronous scheduling is the
// default from there on) and SGLang 0.5.
#include <algorithm>
#include <functional>
#include <set>

#include "patterns/decode_steps.h"
#include "patterns/marks.h"
#include "patterns/rule.h"
#include "patterns/rules/decode_text.h"

namespace tta::patterns {
namespace decode {

std::size_t steps_of(const Context& context, const Finding& f) {
  const auto& begins = decode_steps(context).begins;
  std::set<std::int64_t> out;
  for (const auto& claim : f.claims) {
    const auto* begin = timeline::last_begun(begins, claim.begin, std::identity());
    out.insert(begin == nullptr ? 0 : *begin);
  }
  return std::max<std::size_t>(1, out.size());
}

std::string each(const Context& context, const Finding& f) {
  const auto steps = steps_of(context, f);
  return count_text(steps, "step", "steps") +
         (steps > 1
              ? " (" + duration_text(f.wasted_ns / static_cast<std::int64_t>(steps)) +
                    " each)"
              : "");
}

namespace {

// The marks of one or two causes, the second as sub-type 1.
std::vector<Mark> marks_of(const Context& context, DecodeCause first,
                           DecodeCause second) {
  std::vector<Mark> out;
  for (const auto& [cause, mark] : decode_steps(context).marks) {
    if (cause != first && cause != second) continue;
    out.push_back(mark);
    out.back().subtype = cause == first ? 0 : 1;
  }
  return out;
}

template <PatternId pattern, DecodeCause first, DecodeCause second = first>
std::vector<Claim> propose(const Context& context) {
  return claim_marks(context, pattern, marks_of(context, first, second));
}

std::vector<Claim> propose_sampling(const Context& context) {
  auto waits = marks_of(context, DecodeCause::kSampling, DecodeCause::kSampling);
  auto claims = claim_marks(context, PatternId::kDecodeSamplingSync, waits);
  // The wait is to go, not the host's work after it.
  for (auto& wait : waits) wait.time = {};
  note_sites(context, PatternId::kDecodeSamplingSync, std::move(waits));
  return claims;
}

// --- Pauses ----------------------------------------------------------------------

constexpr std::array kAlways = {Threshold{
    "min_share", 0, "share", "always accounted for: the server had nothing to do"}};

std::string describe_pauses(const Context&, const Finding& f) {
  return "The server had no requests for " + duration_text(f.wasted_ns) + ".";
}

// --- Steps without graphs --------------------------------------------------------

enum : std::uint8_t { kOfSize, kOfAll };

std::string describe_eager(const Context& context, const Finding& f) {
  std::uint32_t launches = 0;
  std::int64_t batch = -1, largest = -1;
  for (const auto& step : decode_steps(context).steps) {
    if (f.subtype == kOfSize && !step.decodes()) continue;
    if (step.graph_launches > 0) {
      largest = std::max(largest, step.scope.batch);
    } else if (step.launches > launches) {
      launches = step.launches;
      batch = step.scope.batch;
    }
  }
  std::string text = engine(context) + " launched up to " +
                     count_text(launches, "kernel", "kernels") +
                     " one by one in a step, without a CUDA graph";
  if (f.subtype == kOfSize && batch > largest && largest > 0) {
    text += ": batch " + std::to_string(batch) + ", with graphs up to " +
            std::to_string(largest);
  }
  return text + ". The device idled " + duration_text(f.wasted_ns) + " meanwhile.";
}

std::string advise_eager(const Context& context, const Finding& f) {
  if (f.subtype == kOfSize) {
    return is_vllm(context)
               ? "Capture graphs for these batches: cudagraph_capture_sizes in "
                 "--compilation-config, or a larger --max-num-seqs."
               : "Capture graphs for these batches: --cuda-graph-max-bs of at least "
                 "the largest batch.";
  }
  return is_vllm(context)
             ? "Start vLLM without --enforce-eager, and with a size in "
               "cudagraph_capture_sizes (--compilation-config) that is not less than "
               "the tokens of a step."
             : "Start the server without --disable-cuda-graph.";
}

// --- Graphs ----------------------------------------------------------------------

std::string describe_launch(const Context& context, const Finding& f) {
  const auto& t = context.timeline;
  const auto row = f.events.front();
  return "The device idled " + duration_text(f.wasted_ns) + " in " + each(context, f) +
         " while the step's graph was being launched: the longest launch took " +
         duration_text(t.columns().dur[row]) + ".";
}

std::string describe_pieces(const Context& context, const Finding& f) {
  std::uint32_t most = 0;
  for (const auto& step : decode_steps(context).steps) {
    if (step.decodes()) most = std::max(most, step.graph_launches);
  }
  return "A decode step launched up to " + count_text(most, "graph", "graphs") +
         "; between them the device idled " + duration_text(f.wasted_ns) + " in " +
         each(context, f) + ".";
}

std::string advise_pieces(const Context& context, const Finding&) {
  return is_vllm(context)
             ? "Capture decode steps as one graph: cudagraph_mode FULL_AND_PIECEWISE "
               "or FULL_DECODE_ONLY in --compilation-config, with an attention backend "
               "that supports it."
             : "Capture decode steps as one graph, attention included.";
}

// --- Between steps ---------------------------------------------------------------

std::string describe_sampling(const Context& context, const Finding& f) {
  return "The host waited for the tokens of " + each(context, f) +
         ", and the device idled " + duration_text(f.wasted_ns) +
         " until it had work again.";
}

std::string advise_sampling(const Context&, const Finding&) {
  return "Keep the tokens on the device for the next step, and copy them with "
         "non_blocking=True to pinned memory to be read a step later.";
}

std::string describe_serial(const Context& context, const Finding& f) {
  return "No step was launched before the one before it had ended: the device idled " +
         duration_text(f.wasted_ns) + " after " + each(context, f) +
         " while the host scheduled and prepared the next.";
}

std::string advise_serial(const Context& context, const Finding&) {
  return std::string(
             is_vllm(context)
                 ? "Schedule asynchronously: --async-scheduling (the default from vLLM "
                   "0.14 on, unless an option such as pipeline parallelism excludes it)"
                 : "Schedule while the step before runs: start SGLang without "
                   "--disable-overlap-schedule") +
         ", and read no value of a step before the next is launched.";
}

std::string describe_gap(const Context& context, const Finding& f) {
  return "Between decode steps the device idled " + duration_text(f.wasted_ns) +
         " after " + each(context, f) + " while the host was busy here.";
}

std::string advise_gap(const Context& context, const Finding&) {
  return (is_vllm(context)
              ? std::string("Move it off the path from one step to the next: a later "
                            "vLLM, asynchronous scheduling (--async-scheduling), ")
              : std::string("Move it off the path from one step to the next: overlap "
                            "scheduling, ")) +
         "detokenization and logging in another process, cheaper sampling options.";
}

}  // namespace
}  // namespace decode

const Rule kNoRequestsRule{PatternId::kNoRequests, decode::kAlways,
                           decode::propose<PatternId::kNoRequests, DecodeCause::kPause>,
                           decode::describe_pauses};
const Rule kDecodeEagerFallbackRule{
    PatternId::kDecodeEagerFallback, decode::kThresholds,
    decode::propose<PatternId::kDecodeEagerFallback, DecodeCause::kFallback,
                    DecodeCause::kEager>,
    decode::describe_eager, decode::advise_eager};
const Rule kGraphLaunchExposedRule{
    PatternId::kGraphLaunchExposed, decode::kThresholds,
    decode::propose<PatternId::kGraphLaunchExposed, DecodeCause::kGraphLaunch>,
    decode::describe_launch};
const Rule kPiecewiseGraphRule{
    PatternId::kPiecewiseGraph, decode::kThresholds,
    decode::propose<PatternId::kPiecewiseGraph, DecodeCause::kPieces>,
    decode::describe_pieces, decode::advise_pieces};
const Rule kDecodeSamplingSyncRule{PatternId::kDecodeSamplingSync, decode::kThresholds,
                                   decode::propose_sampling, decode::describe_sampling,
                                   decode::advise_sampling};
const Rule kAsyncSchedulingOffRule{
    PatternId::kAsyncSchedulingOff, decode::kThresholds,
    decode::propose<PatternId::kAsyncSchedulingOff, DecodeCause::kSerial>,
    decode::describe_serial, decode::advise_serial};
const Rule kDecodeHostGapRule{
    PatternId::kDecodeHostGap, decode::kThresholds,
    decode::propose<PatternId::kDecodeHostGap, DecodeCause::kBetween>,
    decode::describe_gap, decode::advise_gap};

}  // namespace tta::patterns

// SPDX-License-Identifier: BSD-3-Clause
// robust/checks.cpp: refusals in good form, one outcome however it is come by.
#include "robust/checks.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "pipeline/analyze.h"
#include "pipeline/tables/windows_as_arrays.h"
#include "support/outcome.h"
#include "timeline/windows.h"
#include "trace/args.h"
#include "trace/pftrace/packets.h"

namespace tta::robust {
namespace {

using test::Outcome;

// The words a refusal of bytes may have: scripts decide by them.
const std::set<std::string_view>& known_kinds() {
  static const std::set<std::string_view> kinds = {"bad_escape",
                                                   "bad_utf8",
                                                   "bzip2",
                                                   "control_character",
                                                   "empty",
                                                   "git_lfs",
                                                   "gzip_bomb",
                                                   "gzip_checksum",
                                                   "gzip_damaged",
                                                   "gzip_header",
                                                   "gzip_limit",
                                                   "gzip_trailing",
                                                   "gzip_truncated",
                                                   "html",
                                                   "invalid_json",
                                                   "nested_gzip",
                                                   "not_a_trace",
                                                   "not_json",
                                                   "nsight",
                                                   "pftrace_damaged",
                                                   "pftrace_limit",
                                                   "pftrace_truncated",
                                                   "pickle",
                                                   "sqlite",
                                                   "too_deep",
                                                   "torch_save",
                                                   "trailing_content",
                                                   "truncated",
                                                   "too_many_events",
                                                   "two_event_lists",
                                                   "utf16",
                                                   "xz",
                                                   "zip",
                                                   "zstd"};
  return kinds;
}

void require(bool holds, const std::string& what, const Outcome& outcome) {
  if (!holds) throw Broken(what + ": " + outcome.kind + ": " + outcome.message);
}

void check_refusal(const Outcome& outcome, std::size_t size) {
  const std::string& message = outcome.message;
  require(known_kinds().contains(outcome.kind), "unknown kind of refusal", outcome);
  require(message.size() >= 15 && message.size() <= 2000, "length of refusal", outcome);
  require(std::all_of(message.begin(), message.end(),
                      [](char c) { return c >= 0x20 && c < 0x7f; }),
          "unprintable refusal", outcome);
  require(message.find(outcome.path) != message.npos, "refusal without file", outcome);
  require(!outcome.hint.empty() && message.find(outcome.hint) != message.npos,
          "refusal without hint", outcome);
  // Text out of gzip may be longer than the input.
  require(outcome.offset >= -1 && outcome.event >= -1, "negative place", outcome);
  if (outcome.kind.starts_with("gzip")) {
    require(outcome.offset <= static_cast<std::int64_t>(size), "place after the end",
            outcome);
  }
}

void check_equal(const Outcome& control, const Outcome& other, const char* way) {
  const std::string how = test::difference(control, other);
  if (!how.empty()) throw Broken(std::string(way) + " changes the outcome: " + how);
}

std::uint64_t warned(const trace::Trace& trace, std::string_view kind) {
  for (const trace::Warning& warning : trace.warnings) {
    if (warning.kind == kind) return warning.count;
  }
  return 0;
}

// Sound text gives the same with and without; damaged text at least what precedes the
// damage.
void check_recovery(const Outcome& control, const Outcome& recovered) {
  if (control.trace) {
    // A list without its end is read, and an element that has none is skipped: recover
    // finds the events in it.
    const auto cut = [](const trace::Warning& w) { return w.kind == "unclosed_list"; };
    if (std::ranges::any_of(control.trace->warnings, cut)) return;
    return check_equal(control, recovered, "recover of sound text");
  }
  if (!recovered.trace) return;
  const trace::Trace& trace = *recovered.trace;
  const std::uint64_t elements = trace.columns.size() + trace.left_out +
                                 warned(trace, "skipped_element") +
                                 warned(trace, "no_phase");
  const auto whole =
      static_cast<std::uint64_t>(std::max<std::int64_t>(control.event, 0));
  require(elements >= whole,
          "recover gives " + std::to_string(elements) + " events of at least " +
              std::to_string(whole),
          control);
}

// What features/feature_table.h promises of every value.
void check_arrays(const trace::Trace& trace, const pipeline::Report& report) {
  const auto arrays = pipeline::make_arrays(report);
  const auto columns = features::window_columns();
  for (std::size_t i = 0; i < arrays.windows.size(); ++i) {
    const auto& column = columns[i % columns.size()];
    const auto value = arrays.windows[i];
    const bool missing = std::isnan(value) && !column.missing.empty();
    const bool sound = std::isfinite(value) &&
                       (column.unit != "share" || (value >= 0 && value < 1.00001f));
    if (!missing && !sound) {
      throw Broken("a window's " + std::string(column.name) + " is " +
                   std::to_string(value));
    }
  }
  // Edges lead to tokens of the same device or process.
  std::map<std::pair<std::int32_t, std::int64_t>, std::pair<std::int64_t, std::int64_t>>
      tilings;
  for (std::size_t i = 0; i < report.windows.size(); ++i) {
    const auto& w = report.tiles[i];
    const std::pair range(arrays.token_begin[i], arrays.token_begin[i + 1]);
    auto& tiling = tilings.try_emplace({w.device, w.pid}, range).first->second;
    tiling.second = range.second;
  }
  for (std::size_t i = 0; i < report.windows.size(); ++i) {
    const auto begin = arrays.token_begin[i], end = arrays.token_begin[i + 1];
    const auto& w = report.tiles[i];
    const auto [least, most] = tilings.at({w.device, w.pid});
    if (end - begin != report.tiles[i].events) throw Broken("tokens, events");
    for (auto at = static_cast<std::size_t>(begin);
         at < arrays.tokens.size() && std::cmp_less(at, end); ++at) {
      const auto& tokens = arrays.tokens;
      for (const auto to : {tokens.parent[at], tokens.launch[at]}) {
        if (to != -1 && (to < least || to >= most))
          throw Broken("an edge leads astray");
      }
      if (arrays.row[at] >= trace.columns.size()) throw Broken("a token without a row");
      for (const auto* values :
           {&tokens.place, &tokens.duration, &tokens.duration_ratio, &tokens.gap,
            &tokens.gap_ratio, &tokens.launch_delay, &tokens.queue, &tokens.bytes,
            &tokens.blocks, &tokens.block_threads, &tokens.elements}) {
        if (!std::isfinite((*values)[at]))
          throw Broken("a token's value is not finite");
      }
    }
  }
}

void check_analysis(const trace::Trace& trace, const std::string& bytes, bool exact) {
  std::vector<std::uint32_t> rows(trace.columns.size());
  std::iota(rows.begin(), rows.end(), 0u);
  const std::vector<std::string> args = trace.read_args(rows);
  for (const std::uint32_t row : rows) {
    const std::string& text = args[row];
    (void)trace::string_arg(text, "name");
    (void)trace::int_arg(text, "correlation");
    // Values that are not JSON read as null, bytes that are not UTF-8 as U+FFFD.
    const bool as_written =
        warned(trace, "bad_value") == 0 && warned(trace, "bad_utf8") == 0;
    if (as_written && text.size() != trace.columns.args_length[row]) {
      throw Broken("length of args");
    }
    if (exact && as_written &&
        text != bytes.substr(trace.columns.args_offset[row], text.size()) &&
        !text.empty()) {
      throw Broken("args of row " + std::to_string(row) + " are other text");
    }
  }
  const pipeline::Report report = pipeline::analyze(trace);
  for (const auto& tile : report.tiles) {
    (void)timeline::window_tree(*report.timeline, tile);
  }
  check_arrays(trace, report);
}

void add_to_digest(std::uint64_t& digest, const Outcome& outcome) {
  const auto add = [&](std::string_view bytes) {
    digest = trace::hash_bytes(bytes, digest);
  };
  // Of damage, the path for unknown processors may see another part first.
  if (!outcome.trace) return add("refused");
#define TTA_ADD(name, type, doc)                                          \
  add({reinterpret_cast<const char*>(outcome.trace->columns.name.data()), \
       outcome.trace->columns.name.size() * sizeof(type)});
  TTA_COLUMNS(TTA_ADD)
#undef TTA_ADD
  for (std::uint32_t id = 0; id < outcome.trace->strings.size(); ++id) {
    add(outcome.trace->strings.view(id));
  }
  for (const trace::Warning& warning : outcome.trace->warnings) add(warning.detail);
}

}  // namespace

Plan plan_of(std::uint64_t dice) {
  constexpr std::size_t kWindows[] = {1, 64, 65, 96, 131, 200, 257, 1000, 4096};
  constexpr std::size_t kBlocks[] = {1, 64, 100, 333, 1000, 5000};
  const auto take = [&](std::uint64_t below) {
    const std::uint64_t taken = dice % below;
    dice /= below;
    return taken;
  };
  Plan plan;
  plan.options.threads = 1;
  plan.options.window_bytes = kWindows[take(std::size(kWindows))];
  plan.options.block_bytes = kBlocks[take(std::size(kBlocks))];
  const std::size_t other = kWindows[take(std::size(kWindows))];
  if (take(8) == 0) plan.other_window = other;
  // Dear: its buffers are new pages each time.
  if (take(128) == 0) plan.options.window_bytes = trace::LoadOptions{}.window_bytes;
  if (take(8) == 0) plan.recover = true;
  if (take(128) == 0) plan.threads = 2 + static_cast<unsigned>(take(2));
  if (take(16) == 0) plan.analyze = true;
  if (take(16) == 0) plan.options.keep.categories = dice;
  if (take(16) == 0) plan.options.keep.begin = 4372189311955743;
  return plan;
}

void check(const std::string& bytes, const Plan& plan, Counts& counts) {
  ++counts.inputs;
  const Outcome control = test::load_outcome(bytes, plan.options);
  add_to_digest(counts.digest, control);
  if (control.trace) {
    ++counts.loaded;
  } else {
    ++counts.refused[control.kind];
    check_refusal(control, bytes.size());
  }
  const bool is_text =
      !bytes.starts_with("\x1f\x8b") && !trace::pftrace::begins_like_packets(bytes);
  if (control.trace && is_text && control.trace->text_bytes != bytes.size()) {
    throw Broken("text_bytes is " + std::to_string(control.trace->text_bytes));
  }
  trace::LoadOptions options = plan.options;
  if (plan.other_window > 0) {
    ++counts.compared;
    options.window_bytes = plan.other_window;
    check_equal(control, test::load_outcome(bytes, options), "another window");
  }
  if (plan.threads > 1) {
    ++counts.threaded;
    options.threads = plan.threads;
    check_equal(control, test::load_outcome(bytes, options), "threads");
  }
  if (plan.recover) {
    ++counts.recovered;
    options.recover = true;
    const Outcome recovered = test::load_outcome(bytes, options);
    if (!recovered.trace) check_refusal(recovered, bytes.size());
    check_recovery(control, recovered);
    if (recovered.trace && plan.analyze) {
      check_analysis(*recovered.trace, bytes, false);
    }
  }
  if (plan.analyze && control.trace) {
    ++counts.analyzed;
    check_analysis(*control.trace, bytes, is_text);
  }
}

}  // namespace tta::robust

// SPDX-License-Identifier: BSD-3-Clause
// pipeline/quality/load_notes.cpp: what the profiler logged and what the loader
// noticed.
#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <vector>

#include "patterns/rule.h"
#include "pipeline/quality/quality.h"
#include "timeline/names.h"
#include "trace/args.h"

namespace tta::pipeline {

void find_clock_skew(const timeline::Timeline& t, Quality& q) {
  if (t.links.skewed == 0) return;
  const auto& c = t.columns();
  std::vector<std::int64_t> skews;
  for (const auto& d : t.devices) {
    for (const auto row : d.rows) {
      const auto launch = t.links.launch[row];
      if (launch != timeline::kNoRow && c.ts[row] < c.ts[launch]) {
        skews.push_back(c.ts[launch] - c.ts[row]);
      }
    }
  }
  if (skews.empty()) return;
  std::sort(skews.begin(), skews.end());
  const auto beyond =
      skews.end() - std::upper_bound(skews.begin(), skews.end(), timeline::kClockSkew);
  const bool grave =
      share(static_cast<std::uint64_t>(beyond), t.links.linked) >= kLostShare;
  auto text = of(skews.size(), t.links.linked) +
              " linked device events start before their launch does, by " +
              patterns::duration_text(skews[skews.size() / 2]) + " (median) to " +
              patterns::duration_text(skews.back()) +
              ": the clocks of host and device differ.";
  if (grave) {
    text += " The host's activity while the device was idle is uncertain by as much.";
  }
  add(q, grave ? Verdict::kDegraded : Verdict::kOk, "clock_skew", skews.size(), text);
}

void describe_links(const timeline::Timeline& t, Quality& q) {
  const auto& links = t.links;
  if (links.queued_before > 0) {
    add(q, Verdict::kOk, "queued_before", links.queued_before,
        std::to_string(links.queued_before) +
            " device events were launched before recording began.");
  }
  if (links.by_external_id > 0) {
    add(q, Verdict::kOk, "linked_by_external_id", links.by_external_id,
        of(links.by_external_id, links.device_rows) +
            " device events are linked to the host by External id: the trace has no "
            "correlation ids for them.");
  }
  if (links.without_id > 0) {
    add(q, Verdict::kOk, "work_without_id", links.without_id,
        of(links.without_id, links.device_rows) +
            " device events carry no id that links them to their launch: their cause "
            "is unknown.");
  }
  for (const auto& d : t.devices) {
    if (d.foreign_share < kLostShare) continue;
    add(q, Verdict::kDegraded, "shared_device_number", 1,
        "Several processes launched work on device " + std::to_string(d.number) +
            ": either they share it, or the file numbers devices of different "
            "processes alike, and their times are mixed up. Analyze each process's "
            "own file, or merge them with pids that differ.");
  }
  std::map<std::int32_t, std::uint64_t> with;  // devices, by number
  for (const auto& d : t.devices) ++with[d.number];
  std::uint64_t alike = 0;
  for (const auto& [number, count] : with) alike += count > 1 ? count : 0;
  if (alike > 0) {
    add(q, Verdict::kOk, "merged_devices", alike,
        "The file holds devices of several processes under one number, as files merged "
        "from several ranks do: each has times of its own here, told apart by process. "
        "Comparisons between ranks are only as accurate as their clocks agree.");
  }
}

namespace {

// Kinds of trace::Warning that show damage to the file, however small: it is unknown
// what else is lost. No profiler writes a time of 73 years.
constexpr std::array<std::string_view, 14> kDamage = {
    "far_time",          "truncated",       "damaged_event",    "damaged_metadata",
    "bad_utf8",          "two_event_lists", "trailing_content", "gzip_truncated",
    "gzip_damaged",      "gzip_checksum",   "gzip_trailing",    "unclosed_list",
    "pftrace_truncated", "pftrace_damaged"};

// Kinds after which an event is all that it was.
constexpr std::array<std::string_view, 4> kHarmless = {
    "text_number", "unknown_category", "lone_surrogate", "odd_phase"};

template <std::size_t N>
bool has(const std::array<std::string_view, N>& kinds, std::string_view kind) {
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

// The first 200 bytes, less what would be a part of a character.
std::string_view beginning_of(std::string_view text) {
  if (text.size() <= 200) return text;
  std::size_t end = 200;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end);
}

// What Kineto wrote about its own recording: arrays of text under these keys.
void read_profiler_log(const trace::Trace& t, Quality& q) {
  for (const auto* key : {"WARNING", "ERROR"}) {
    std::uint64_t count = 0;
    std::string first;
    bool lost = false;
    trace::for_each_element(t.metadata_json(key), [&](std::string_view message) {
      if (count++ == 0) first = beginning_of(message);
      lost |= timeline::contains_any(
          message, {"dropped", "lost", "out of range", "buffer is full"});
    });
    if (count == 0) continue;
    const auto text = "The profiler logged " + std::to_string(count) + " " + key +
                      " messages, the first: " + first;
    if (lost) {
      add_loss(q, "profiler_lost_records", count, text);
    } else {
      add(q, Verdict::kOk, "profiler_log", count, text);
    }
  }
}

}  // namespace

void read_load_notes(const timeline::Timeline& t, Quality& q) {
  const auto& trace = *t.trace;
  read_profiler_log(trace, q);
  if (trace.left_out > 0) {
    add(q, Verdict::kOk, "filtered", trace.left_out,
        std::to_string(trace.left_out) +
            " events were left out on loading, as requested: the figures cover the "
            "loaded part. The check for missing records was skipped; load the whole "
            "trace to run it.");
  }
  for (const auto& w : trace.warnings) {
    const bool grave =
        has(kDamage, w.kind) ||
        (!has(kHarmless, w.kind) && share(w.count, trace.columns.size()) >= kLostShare);
    add(q, grave ? Verdict::kDegraded : Verdict::kOk, w.kind.c_str(), w.count,
        w.detail);
  }
}

}  // namespace tta::pipeline

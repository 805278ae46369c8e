// SPDX-License-Identifier: BSD-3-Clause
// write/write_rank.cpp: processes renumbered and renamed, then the rows.
#include "write/write_rank.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "trace/args.h"
#include "write/write_rows.h"

namespace tta::write {
namespace {

using trace::Trace;

// Processes with events of their own, those of the host first.
std::vector<std::int64_t> processes_of(const Trace& trace) {
  const auto& c = trace.columns;
  std::map<std::int64_t, bool> is_device;
  for (std::uint32_t row = 0; row < c.size(); ++row) {
    if (c.phase[row] == 'M' || c.pid[row] == trace::kNoId) continue;
    auto& known = is_device.try_emplace(c.pid[row], true).first->second;
    known = known && c.device[row] >= 0;
  }
  std::vector<std::int64_t> out;
  for (const bool wanted : {false, true}) {
    for (const auto& [pid, device] : is_device) {
      if (device == wanted) out.push_back(pid);
    }
  }
  return out;
}

// Rows that name processes and order them, which is done anew.
std::vector<std::uint32_t> naming_rows(const Trace& trace) {
  const auto& c = trace.columns;
  const std::set names{trace.strings.find("process_name"),
                       trace.strings.find("process_sort_index")};
  std::vector<std::uint32_t> out;
  for (std::uint32_t row = 0; row < c.size(); ++row) {
    if (c.phase[row] == 'M' && names.contains(c.name[row])) out.push_back(row);
  }
  return out;
}

std::map<std::int64_t, std::string> names_of(const Trace& trace,
                                             const std::vector<std::uint32_t>& rows) {
  std::map<std::int64_t, std::string> out;
  trace.visit_args(rows, [&](std::size_t i, std::string_view args) {
    if (auto name = trace::string_arg(args, "name")) {
      out[trace.columns.pid[rows[i]]] = std::move(*name);
    }
  });
  return out;
}

}  // namespace

std::int64_t write_rank(const Trace& trace, const RankPlace& place, EventList& list) {
  const auto& c = trace.columns;
  const auto naming = naming_rows(trace);
  const auto names = names_of(trace, naming);
  Renumbered renumbered{{}, place.ids};
  auto next = place.first_pid;
  for (const auto pid : processes_of(trace)) {
    renumbered.pids.emplace(pid, next);
    auto name = place.label + ":";
    const auto named = names.find(pid);
    if (named != names.end()) name += " " + named->second;
    if (const auto old = trace.identity(pid); !old.empty()) name += " " + old;
    const auto number = std::to_string(next++);
    const auto row = [&](const char* what, const std::string& args) {
      list.row('M', "\"name\": " + json_string(what) + ", \"pid\": " + number +
                        ", \"tid\": 0, \"args\": {" + args + "}");
    };
    row("process_name", "\"name\": " + json_string(name));
    row("process_sort_index", "\"sort_index\": " + number);
  }
  write_rows(
      trace, list,
      [&](std::uint32_t row) {
        const auto begin = c.ts[row] + place.shift_ns;
        return timeline::Interval{begin, c.timed(row) ? begin + c.dur[row] : begin};
      },
      [&](std::uint32_t row) {
        if (c.pid[row] != trace::kNoId && !renumbered.pids.contains(c.pid[row])) {
          return true;
        }
        return std::ranges::binary_search(naming, row);
      },
      replay::go_on, renumbered);
  return next;
}

std::int64_t append_rank(const Trace& trace, const RankPlace& place,
                         const std::string& path) {
  std::ofstream file;
  try {
    file.exceptions(std::ios::failbit | std::ios::badbit);
    file.open(path, std::ios::binary | std::ios::app);
    EventList list(file, 1);
    const auto next = write_rank(trace, place, list);
    file.close();
    return next;
  } catch (const std::ios_base::failure&) {
    throw std::invalid_argument(path + ": cannot be written: " + std::strerror(errno));
  }
}

}  // namespace tta::write

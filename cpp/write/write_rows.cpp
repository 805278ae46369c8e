// SPDX-License-Identifier: BSD-3-Clause
// write/write_rows.cpp: columns back into text, a row at a time.
#include "write/write_rows.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "replay/time_maps.h"
#include "trace/args.h"
#include "write/json_text.h"
#include "write/output.h"
#include "write/write_trace.h"

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

// Rows that name processes and order them, which are written again.
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

namespace {

using replay::Checkpoint;
using replay::Model;

// A trace on its own: its metadata, and where it is from.
void write_header(const trace::Trace& trace, const std::string& note,
                  std::ostream& out) {
  out << "{";
  for (const auto& [key, json] : trace.metadata) {
    if (key != "torchtraceap") out << json_string(key) << ": " << json << ",\n";
  }
  out << "\"torchtraceap\": {\"what_if\": " << json_string(note)
      << ", \"of\": " << json_string(trace.path);
  // A simulation with changes is still none.
  trace::for_each_member(trace.metadata_json("torchtraceap"),
                         [&](auto key, auto value) {
                           if (key == "what_if" || key == "of") return;
                           out << ", \"" << key << "\": " << value;
                         });
  out << "},\n\"traceEvents\": [";
}

}  // namespace

void write_what_if(const Model& model, std::span<const std::int64_t> times,
                   const std::string& note, std::ostream& out,
                   std::span<const std::uint32_t> left_out,
                   const Checkpoint& checkpoint) {
  if (times.size() != model.points.size()) {
    throw std::invalid_argument("a schedule of another model: it has " +
                                std::to_string(times.size()) + " points of " +
                                std::to_string(model.points.size()));
  }
  const FailingStream fails(out);
  const auto& trace = *model.timeline->trace;
  write_header(trace, note, out);
  const replay::TimeMaps maps(model, times);
  const LeftOut gone(trace, left_out);
  EventList list(out);
  write_rows(
      trace, list, [&](std::uint32_t row) { return maps.of(row); },
      [&](std::uint32_t row) { return gone.has(row); }, checkpoint);
  out << "\n]}\n";
}

void write_what_if(const Model& model, std::span<const std::int64_t> times,
                   const std::string& note, const std::string& path,
                   std::span<const std::uint32_t> left_out,
                   const Checkpoint& checkpoint) {
  write_file(path, [&](std::ostream& out) {
    write_what_if(model, times, note, out, left_out, checkpoint);
  });
}

namespace {

using replay::Checkpoint;
using timeline::Interval;
using trace::Category;

constexpr std::uint32_t kRowsBetween = 1 << 14;  // from checkpoint to checkpoint

// What args call the ids that are a trace's own.
constexpr std::array<std::string_view, 5> kIds{
    "correlation", "External id", "external id", "Python id", "Python parent id"};

class RowWriter {
 public:
  RowWriter(const trace::Trace& trace, EventList& list,
            const std::function<Interval(std::uint32_t)>& time_of,
            const Renumbered& renumbered)
      : trace_(trace), list_(list), time_of_(time_of), renumbered_(renumbered) {}

  void write(std::uint32_t row, std::string_view args) {
    const auto& c = trace_.columns;
    const auto phase = c.phase[row];
    std::string text = "\"name\": " + json_string(trace_.name(row));
    if (c.cat(row) != Category::kUnknown) {
      text += ", \"cat\": " + json_string(c.cat_info(row).name);
    }
    if (c.pid[row] != trace::kNoId) text += ", \"pid\": " + pid(c.pid[row]);
    if (c.tid[row] != trace::kNoId) text += ", \"tid\": " + identity(c.tid[row]);
    times(row, text);
    const bool flow = phase == 's' || phase == 't' || phase == 'f';
    if (flow && c.correlation[row] != trace::kNoId) {
      text += ", \"id\": " + std::to_string(moved(c.correlation[row]));
    }
    if (phase == 'f') text += ", \"bp\": \"e\"";
    if (phase == 'i') text += ", \"s\": \"t\"";
    if (!args.empty()) {
      text += ", \"args\": ";
      text += renumbered_.ids == 0 ? std::string(args) : renumbered_args(args);
    }
    list_.row(phase, text);
  }

 private:
  std::string pid(std::int64_t id) const {
    const auto at = renumbered_.pids.find(id);
    return at == renumbered_.pids.end() ? identity(id) : std::to_string(at->second);
  }
  std::int64_t moved(std::int64_t id) const {
    const auto most = std::numeric_limits<std::int64_t>::max() - renumbered_.ids;
    return id <= 0 || id > most ? id : id + renumbered_.ids;
  }
  std::string renumbered_args(std::string_view args) const {
    std::string out;
    std::size_t done = 0;
    trace::for_each_member(args, [&](std::string_view key, std::string_view value) {
      if (std::ranges::find(kIds, key) == kIds.end()) return;
      const auto id = trace::as_int(value);
      if (!id) return;
      const auto at = static_cast<std::size_t>(value.data() - args.data());
      out.append(args.substr(done, at - done)).append(std::to_string(moved(*id)));
      done = at + value.size();
    });
    return out.append(args.substr(done));
  }
  std::string identity(std::int64_t id) const {
    return id < trace::kTextIdentity ? std::to_string(id)
                                     : json_string(trace_.identity(id));
  }

  void times(std::uint32_t row, std::string& text) const {
    const auto& c = trace_.columns;
    if (c.ts[row] == trace::kNoTime) return;
    const bool moves = c.phase[row] != 'M' && c.ts[row] > -trace::kTimeLimit &&
                       c.ts[row] < trace::kTimeLimit;
    const auto time = moves ? time_of_(row) : Interval{c.ts[row], 0};
    text += ", \"ts\": " + microseconds(time.begin);
    if (c.dur[row] == trace::kNoTime) return;
    const auto dur = moves && c.timed(row) ? time.end - time.begin : c.dur[row];
    text += ", \"dur\": " + microseconds(dur);
  }

  const trace::Trace& trace_;
  EventList& list_;
  const std::function<Interval(std::uint32_t)>& time_of_;
  const Renumbered& renumbered_;
};

}  // namespace

LeftOut::LeftOut(const trace::Trace& trace, std::span<const std::uint32_t> rows)
    : trace_(trace), rows_(rows) {
  const auto& c = trace.columns;
  for (const auto row : rows) {
    if (c.cat_info(row).runtime_api) calls_.insert(c.correlation[row]);
  }
}

bool LeftOut::has(std::uint32_t row) const {
  const auto& c = trace_.columns;
  const auto phase = c.phase[row];
  return std::binary_search(rows_.begin(), rows_.end(), row) ||
         ((phase == 's' || phase == 'f') && calls_.contains(c.correlation[row]));
}

void write_rows(const trace::Trace& trace, EventList& list,
                const std::function<Interval(std::uint32_t)>& time_of,
                const std::function<bool(std::uint32_t)>& is_gone,
                const Checkpoint& checkpoint, const Renumbered& renumbered) {
  RowWriter writer(trace, list, time_of, renumbered);
  const auto& c = trace.columns;
  std::vector<std::uint32_t> order(c.size()), with_args;
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](auto row) { return c.args_offset[row]; });
  for (const auto row : order) {
    if (c.args_length[row] > 0) with_args.push_back(row);
  }
  std::size_t next = 0;
  const auto write = [&](std::string_view args) {
    if (next % kRowsBetween == 0) checkpoint();
    const auto row = order[next++];
    if (!is_gone(row)) writer.write(row, args);
  };
  trace.visit_args(with_args, [&](std::size_t i, std::string_view args) {
    while (order[next] != with_args[i]) write("");
    write(args);
  });
  while (next < order.size()) write("");
}

}  // namespace tta::write

// SPDX-License-Identifier: BSD-3-Clause
// trace/pftrace/translation.cpp: an event of Perfetto's as one of Kineto's.
#include "trace/pftrace/translation.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <utility>

#include "trace/json_out.h"
#include "trace/pftrace/fields.h"
#include "trace/pftrace/values.h"

namespace tta::trace {

namespace pftrace {
namespace {

using Kind = TrackEvent::Kind;

// As for gzip: a name of a megabyte in each of many packets makes text without end.
constexpr std::uint64_t kRatioExempt = std::uint64_t{64} << 20;

bool is_call(std::string_view name, std::string_view prefix) {
  return name.size() > prefix.size() && name.starts_with(prefix) &&
         name[prefix.size()] >= 'A' && name[prefix.size()] <= 'Z';
}

// Names of annotations that torch itself and serving engines make.
bool is_annotation(const Index& index, std::string_view name) {
  constexpr std::array<std::string_view, 11> kBeginnings = {"ProfilerStep#",
                                                            "execute_",
                                                            "prefill[",
                                                            "decode[",
                                                            "step[",
                                                            "Optimizer.",
                                                            "enumerate(DataLoader)",
                                                            "DistributedDataParallel",
                                                            "nccl:",
                                                            "gloo:",
                                                            "## "};
  return index.annotations.contains(name) ||
         std::ranges::any_of(kBeginnings,
                             [&](auto each) { return name.starts_with(each); });
}

// The category of a slice in a file that states none.
std::string_view guessed(const Index& index, const TrackEvent& event,
                         const Place& place) {
  if (place.is_overhead) return "overhead";
  if (event.has(Hint::kPythonId)) return "python_function";
  if (event.has(Hint::kSyncKind)) return "cuda_sync";
  if (event.has(Hint::kGrid)) return "kernel";
  if (place.is_device) {
    if (event.name.starts_with("Memcpy")) return "gpu_memcpy";
    if (event.name.starts_with("Memset")) return "gpu_memset";
    return event.has(Hint::kCorrelation) ? "kernel" : "gpu_user_annotation";
  }
  if (event.has(Hint::kCallId) || event.has(Hint::kCorrelation)) {
    if (is_call(event.name, "cu")) return "cuda_driver";
    return "cuda_runtime";
  }
  if (is_annotation(index, event.name)) return "user_annotation";
  return event.has(Hint::kOperator) ? "cpu_op" : "";
}

class Translation final : public TextReader {
 public:
  Translation(std::unique_ptr<TextReader> bytes, std::shared_ptr<const Index> index,
              const LoadOptions& limits)
      : bytes_(std::move(bytes)),
        index_(std::move(index)),
        limits_(limits),
        packets_(*bytes_, limits.recover),
        decoder_(true, [this](const TrackEvent& event) { take(event); }) {
    header();
  }

  std::size_t read(char* to, std::size_t size) override {
    std::size_t done = 0;
    while (done < size) {
      if (used_ == text_.size() && !more()) break;
      const auto part = std::min(size - done, text_.size() - used_);
      std::memcpy(to + done, text_.data() + used_, part);
      used_ += part;
      done += part;
    }
    return done;
  }

  void skip(std::uint64_t size) override {
    while (size > 0 && (used_ < text_.size() || more())) {
      const auto part = std::min<std::uint64_t>(size, text_.size() - used_);
      used_ += static_cast<std::size_t>(part);
      size -= part;
    }
  }

  double progress() const override { return bytes_->progress(); }

  const Damage* damage() const override {
    if (bytes_->damage() != nullptr) return bytes_->damage();
    return limit_ ? &*limit_ : packets_.damage();
  }

 private:
  // Makes more text; false at its end.
  bool more() {
    made_ += text_.size();
    text_.clear();
    used_ = 0;
    while (text_.empty() && !ended_) {
      const auto packet = within_limits() ? packets_.next() : std::nullopt;
      if (!packet) {
        ended_ = true;
        text_ += "\n]}\n";
        break;
      }
      try {
        decoder_.packet(*packet);
      } catch (const BadPacket& bad) {
        packets_.skip(bad.what());
      }
    }
    return !text_.empty();
  }

  bool within_limits() {
    const auto most = limits_.max_ratio * static_cast<double>(packets_.size());
    if (made_ <= limits_.max_text_bytes &&
        (made_ <= kRatioExempt || static_cast<double>(made_) <= most)) {
      return true;
    }
    limit_ = {
        "pftrace_limit", "its events are more text than the limits allow",
        "If the trace is meant to be this large, raise the limits (max_text_bytes="
        " and max_ratio=, --max-text-bytes and --max-ratio).",
        packets_.size()};
    return false;
  }

  void header() {
    text_ += '{';
    for (const auto& [key, json] : index_->metadata) {
      append_json_string(text_, key);
      text_.append(":").append(json).append(",\n");
    }
    text_ += "\"traceEvents\":[";
    for (const auto& [uuid, track] : index_->tracks) {
      const bool is_named = track.has_process || track.has_thread;
      if (!is_named && (track.sort == 0 || track.parent != 0)) continue;
      const auto row = [&](const char* name, const char* key, const std::string& json) {
        start('M', name, "");
        where(is_named ? std::to_string(track.pid) : json_string(track.name),
              track.has_thread ? std::to_string(track.tid) : "0");
        time(",\"ts\":", track.ts);
        text_.append(",\"args\":{\"").append(key).append("\":").append(json) += "}}";
      };
      const bool is_thread = track.has_thread;
      if (is_named && !track.name.empty()) {
        row(is_thread ? "thread_name" : "process_name", "name",
            json_string(track.name));
      }
      if (!track.labels.empty()) {
        row("process_labels", "labels", json_string(track.labels));
      }
      if (track.sort != 0) {
        row(is_thread ? "thread_sort_index" : "process_sort_index", "sort_index",
            std::to_string(track.sort));
      }
    }
  }

  void start(char phase, std::string_view name, std::string_view category) {
    text_ += has_events_ ? ",\n{\"ph\":" : "\n{\"ph\":";
    has_events_ = true;
    append_json_string(text_, {&phase, 1});
    if (!category.empty()) {
      text_ += ",\"cat\":";
      append_json_string(text_, category);
    }
    text_ += ",\"name\":";
    append_json_string(text_, name);
  }
  void where(std::string_view pid, std::string_view tid) {
    text_.append(",\"pid\":").append(pid).append(",\"tid\":").append(tid);
  }
  void time(const char* key, std::int64_t ns) {
    if (ns != kNoTime) text_.append(key).append(microseconds(ns));
  }

  void take(const TrackEvent& event) {
    if (event.gpu >= 0) return of_gpu(event);
    const Place& place = place_of_track(event.track);
    switch (event.kind) {
      case Kind::kBegin:
        return slice(event, place);
      case Kind::kEnd:
        if (event.number < index_->strays.size() && !index_->strays[event.number])
          return;
        return plain('E', event, place, "", "");
      case Kind::kCounter:
        return counter(event, place);
      case Kind::kLegacy:
        return plain(event.phase, event, place, event.category,
                     event.id == 0 ? "" : ",\"id\":" + std::to_string(event.id));
      default:
        return plain('i', event, place, event.category, ",\"s\":\"t\"");
    }
  }

  void slice(const TrackEvent& event, const Place& place) {
    const auto category =
        event.category.empty() ? guessed(*index_, event, place) : event.category;
    const auto dur = event.number < index_->durations.size()
                         ? index_->durations[event.number]
                         : kNoTime;
    std::string args = event.args;
    const auto of_end = index_->args_of_ends.find(event.number);
    if (of_end != index_->args_of_ends.end()) {
      args.append(args.empty() ? "" : ",").append(of_end->second);
    }
    start(dur == kNoTime ? 'B' : 'X', event.name, category);
    where(place.pid, place.tid);
    time(",\"ts\":", event.ts);
    time(",\"dur\":", dur);
    finish(args);
    const bool is_device = category == "kernel" || category.starts_with("gpu_mem");
    for (const auto id : event.flows) {
      flow(is_device ? 'f' : 's', id, event, place, category);
    }
    for (const auto id : event.ends_of_flows) flow('f', id, event, place, category);
  }

  void flow(char phase, std::uint64_t id, const TrackEvent& event, const Place& place,
            std::string_view category) {
    const bool is_autograd = (id & kForwardBackward) != 0;
    const bool is_torch = category_of(category) != Category::kUnknown;
    const char* const name = !is_torch ? "flow" : is_autograd ? "fwdbwd" : "ac2g";
    start(phase, name, name);
    text_.append(",\"id\":").append(std::to_string(id & ~kForwardBackward));
    where(place.pid, place.tid);
    time(",\"ts\":", event.ts);
    text_ += phase == 'f' ? ",\"bp\":\"e\"}" : "}";
  }

  void counter(const TrackEvent& event, const Place& place) {
    std::string value = event.value.empty() ? "0" : event.value;
    const Track* const track = place.track;
    if (track != nullptr && (track->multiplier != 1 || track->incremental)) {
      double number = 0;
      std::from_chars(value.data(), value.data() + value.size(), number);
      if (track->incremental) number = totals_[event.track] += number;
      value = json_number(number * static_cast<double>(track->multiplier));
    }
    const auto name =
        track == nullptr || track->name.empty() ? event.name : track->name;
    counter_row(name, place.pid, event.ts, value);
  }
  void counter_row(std::string_view name, std::string_view pid, std::int64_t ts,
                   const std::string& value) {
    start('C', name, "");
    where(pid, "0");
    time(",\"ts\":", ts);
    finish("\"\":" + value);
  }

  void plain(char phase, const TrackEvent& event, const Place& place,
             std::string_view category, const std::string& more) {
    start(phase, event.name, category);
    where(place.pid, place.tid);
    time(",\"ts\":", event.ts);
    time(",\"dur\":", event.dur);
    text_ += more;
    finish(event.args);
  }

  void of_gpu(const TrackEvent& event) {
    const auto gpu = std::to_string(event.gpu);
    if (event.kind == Kind::kCounter) {
      return counter_row(event.name, "\"GPU " + gpu + " Counters\"", event.ts,
                         event.value.empty() ? "0" : event.value);
    }
    start('X', event.name, event.category);
    where(gpu, event.queue.empty() ? "0" : event.queue);
    time(",\"ts\":", event.ts);
    time(",\"dur\":", event.dur);
    finish(event.args);
  }

  void finish(std::string_view args) {
    if (!args.empty()) text_.append(",\"args\":{").append(args) += '}';
    text_ += '}';
  }

  const Place& place_of_track(std::uint64_t track) {
    const auto [at, is_new] = places_.try_emplace(track);
    if (is_new) at->second = place_of(*index_, track);
    return at->second;
  }

  std::unique_ptr<TextReader> bytes_;
  std::shared_ptr<const Index> index_;
  const LoadOptions limits_;
  Packets packets_;
  Decoder decoder_;
  std::string text_;
  std::size_t used_ = 0;
  std::uint64_t made_ = 0;
  bool has_events_ = false, ended_ = false;
  std::unordered_map<std::uint64_t, Place> places_;
  std::unordered_map<std::uint64_t, double> totals_;
  std::optional<Damage> limit_;
};

}  // namespace
}  // namespace pftrace

std::unique_ptr<TextReader> read_pftrace(std::unique_ptr<TextReader> bytes,
                                         std::shared_ptr<const pftrace::Index> index,
                                         const LoadOptions& limits) {
  return std::make_unique<pftrace::Translation>(std::move(bytes), std::move(index),
                                                limits);
}

}  // namespace tta::trace

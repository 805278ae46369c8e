// SPDX-License-Identifier: BSD-3-Clause
// trace/pftrace/decoder_gpu.cpp: work of devices and their counters, which torch writes
// as stages of queues and not as slices of tracks.
#include <array>
#include <optional>
#include <utility>

#include "trace/json_out.h"
#include "trace/pftrace/decoder.h"
#include "trace/pftrace/fields.h"
#include "trace/pftrace/values.h"

namespace tta::trace::pftrace {
namespace {

using Words = std::pair<std::string_view, std::string_view>;

// torch's names there, and Kineto's.
constexpr std::array kArgs = {
    Words{"device id", "device"},
    Words{"context id", "context"},
    Words{"stream id", "stream"},
    Words{"registers_per_thread", "registers per thread"},
    Words{"shared_mem_dynamic", "shared memory"},
};
constexpr std::array kStages = {
    Words{"Kernel", "kernel"},
    Words{"Memcpy", "gpu_memcpy"},
    Words{"Memset", "gpu_memset"},
    Words{"Annotation", "gpu_user_annotation"},
};

template <typename Table>
std::string_view in_other_words(const Table& table, std::string_view word,
                                std::string_view otherwise) {
  for (const auto& [from, to] : table) {
    if (word == from) return to;
  }
  return otherwise;
}

void add_arg(TrackEvent& out, std::string_view key, std::string_view json) {
  if (!out.args.empty()) out.args += ',';
  append_json_string(out.args, in_other_words(kArgs, key, key));
  out.args += ':';
  out.args += json;
}

std::string dimensions(std::string_view bytes) {
  std::array<std::uint64_t, 3> xyz{1, 1, 1};
  each_field<std::uint32_t>(bytes, [&](std::uint32_t axis, const Value& value) {
    if (axis >= 1 && axis <= xyz.size()) xyz[axis - 1] = value.number;
  });
  return "[" + std::to_string(xyz[0]) + "," + std::to_string(xyz[1]) + "," +
         std::to_string(xyz[2]) + "]";
}

}  // namespace

void Decoder::work(std::string_view bytes, Sequence& sequence, TrackEvent& out) {
  out.kind = TrackEvent::Kind::kWork;
  out.dur = 0;
  out.gpu = 0;
  std::string_view stage, kernel;
  const auto queue = [](std::string_view name) {
    constexpr std::string_view kStream = "stream ";
    const bool is_stream = name.starts_with(kStream);
    return number_or_string(is_stream ? name.substr(kStream.size()) : name);
  };
  each_field<Work>(bytes, [&](Work field, const Value& value) {
    const auto id = value.number;  // from 1; torch writes 0 for none
    switch (field) {
      case Work::kDuration:
        return void(out.dur = value.integer());
      case Work::kGpu:
        return void(out.gpu = value.int32());
      case Work::kQueueId:
        return void(out.queue = queue(text(sequence, kSpecs, id)));
      case Work::kStageId:
        return void(stage = text(sequence, kSpecs, id));
      case Work::kName:
        return void(out.name = value.content);
      case Work::kNameId:
        if (id != 0) out.name = text(sequence, kNames, id);
        return;
      case Work::kKernelId:
        if (id != 0) kernel = text(sequence, kKernels, id);
        return;
      case Work::kExtra:
        if (with_args_) extra(value.content, out);
        return;
      case Work::kLaunch:
        return launch(value.content, sequence, out);
    }
  });
  if (out.name.empty()) out.name = kernel.empty() ? stage : kernel;
  out.category = in_other_words(kStages, stage, "");
  take_(out);
}

void Decoder::extra(std::string_view bytes, TrackEvent& out) {
  std::string_view key, text;
  each_field<Extra>(bytes, [&](Extra field, const Value& value) {
    if (field == Extra::kName) key = value.content;
    if (field == Extra::kValue) text = value.content;
  });
  add_arg(out, key, number_or_string(text));
}

void Decoder::launch(std::string_view bytes, Sequence& sequence, TrackEvent& out) {
  each_field<Launch>(bytes, [&](Launch field, const Value& part) {
    if (field == Launch::kGrid) add_arg(out, "grid", dimensions(part.content));
    if (field == Launch::kBlock) add_arg(out, "block", dimensions(part.content));
    if (field != Launch::kArg) return;
    std::string_view key;
    std::string json;
    each_field<LaunchArg>(part.content, [&](LaunchArg arg, const Value& value) {
      if (arg == LaunchArg::kNameId) key = text(sequence, kArgs, value.number);
      if (arg == LaunchArg::kName) key = value.content;
      if (arg == LaunchArg::kInt) json = std::to_string(value.integer());
      if (arg == LaunchArg::kUint) json = std::to_string(value.number);
    });
    if (!json.empty()) add_arg(out, key, json);
  });
}

void Decoder::add_counters(std::string_view bytes, Sequence& sequence) {
  GpuCounterSet set;
  std::uint64_t id = 0;
  each_field<GpuDescriptor>(bytes, [&](GpuDescriptor field, const Value& value) {
    if (field == GpuDescriptor::kId) id = value.number;
    if (field == GpuDescriptor::kGpu) set.gpu = value.int32();
    if (field == GpuDescriptor::kDescriptor) add_specs(value.content, set.names);
  });
  sequence.gpu_counters[id] = std::move(set);
}

void Decoder::gpu_counters(std::string_view bytes, Sequence& sequence,
                           TrackEvent& out) {
  GpuCounterSet own;
  const GpuCounterSet* set = &own;
  std::optional<std::int64_t> gpu;
  std::vector<std::pair<std::uint64_t, std::string>> values;
  const auto counter = [&](std::string_view content) {
    auto& [id, json] = values.emplace_back(0, "0");
    each_field<GpuCounter>(content, [&](GpuCounter field, const Value& value) {
      if (field == GpuCounter::kId) id = value.number;
      if (field == GpuCounter::kInt) json = std::to_string(value.integer());
      if (field == GpuCounter::kDouble) json = json_number(value.real());
    });
  };
  each_field<GpuCounters>(bytes, [&](GpuCounters field, const Value& value) {
    if (field == GpuCounters::kGpu) gpu = value.int32();
    if (field == GpuCounters::kDescriptor) add_specs(value.content, own.names);
    if (field == GpuCounters::kCounter) counter(value.content);
    if (field != GpuCounters::kDescriptorId) return;
    const auto known = sequence.gpu_counters.find(value.number);
    if (known == sequence.gpu_counters.end()) {
      throw BadPacket("counters of a GPU that no packet before describes");
    }
    set = &known->second;
  });
  out.kind = TrackEvent::Kind::kCounter;
  out.gpu = gpu.value_or(set->gpu);
  for (auto& [id, json] : values) {
    const auto name = set->names.find(id);
    out.name = name == set->names.end() ? "" : std::string_view(name->second);
    out.value = std::move(json);
    take_(out);
  }
}

}  // namespace tta::trace::pftrace

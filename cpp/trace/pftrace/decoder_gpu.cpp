// SPDX-License-Identifier: BSD-3-Clause
// trace/pftrace/decoder_gpu.cpp: work of devices and their counters, which torch writes
// as stages of queues and not as slices of tracks.
#include <array>
#include <optional>
#include <protozero/pbf_message.hpp>
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
  std::array<std::uint32_t, 3> xyz{1, 1, 1};
  enum class Axis : std::uint32_t { kX = 1, kZ = 3 };
  pbf_message<Axis> m{bytes};
  while (m.next()) {
    const auto axis = static_cast<std::uint32_t>(m.tag()) - 1;
    if (m.wire_type() == pbf_wire_type::varint && axis < xyz.size()) {
      xyz[axis] = m.get_uint32();
    } else {
      m.skip();
    }
  }
  return "[" + std::to_string(xyz[0]) + "," + std::to_string(xyz[1]) + "," +
         std::to_string(xyz[2]) + "]";
}

}  // namespace

void Decoder::work(std::string_view bytes, Sequence& sequence, TrackEvent& out) {
  out.kind = TrackEvent::Kind::kWork;
  out.dur = 0;
  out.gpu = 0;
  std::string_view stage, kernel;
  pbf_message<Work> m{bytes};
  while (m.next()) {
    switch (m.tag_and_type()) {
      case number(Work::kDuration):
        out.dur = m.get_int64();
        break;
      case number(Work::kGpu):
        out.gpu = static_cast<std::int32_t>(m.get_int64());
        break;
      case number(Work::kQueueId): {
        const auto name = text(sequence, kSpecs, m.get_uint64());
        constexpr std::string_view kStream = "stream ";
        out.queue = number_or_string(
            name.starts_with(kStream) ? name.substr(kStream.size()) : name);
        break;
      }
      case number(Work::kStageId):
        stage = text(sequence, kSpecs, m.get_uint64());
        break;
      case content(Work::kName):
        out.name = view_of(m);
        break;
      // Numbers of texts are from 1; torch writes 0 for none.
      case number(Work::kNameId):
        if (const auto id = m.get_uint64(); id != 0) {
          out.name = text(sequence, kNames, id);
        }
        break;
      case number(Work::kKernelId):
        if (const auto id = m.get_uint64(); id != 0) {
          kernel = text(sequence, kKernels, id);
        }
        break;
      case content(Work::kExtra): {
        std::string_view key, value;
        pbf_message<Extra> extra{m.get_view()};
        while (extra.next()) {
          if (extra.tag_and_type() == content(Extra::kName)) {
            key = view_of(extra);
          } else if (extra.tag_and_type() == content(Extra::kValue)) {
            value = view_of(extra);
          } else {
            extra.skip();
          }
        }
        if (with_args_) add_arg(out, key, number_or_string(value));
        break;
      }
      case content(Work::kLaunch):
        launch(m.get_view(), sequence, out);
        break;
      default:
        m.skip();
    }
  }
  if (out.name.empty()) out.name = kernel.empty() ? stage : kernel;
  out.category = in_other_words(kStages, stage, "");
  take_(out);
}

void Decoder::launch(std::string_view bytes, Sequence& sequence, TrackEvent& out) {
  pbf_message<Launch> m{bytes};
  while (m.next()) {
    switch (m.tag_and_type()) {
      case content(Launch::kGrid):
        add_arg(out, "grid", dimensions(m.get_view()));
        break;
      case content(Launch::kBlock):
        add_arg(out, "block", dimensions(m.get_view()));
        break;
      case content(Launch::kArg): {
        std::string_view key;
        std::string value;
        pbf_message<LaunchArg> arg{m.get_view()};
        while (arg.next()) {
          switch (arg.tag_and_type()) {
            case number(LaunchArg::kNameId):
              key = text(sequence, kArgs, arg.get_uint64());
              break;
            case content(LaunchArg::kName):
              key = view_of(arg);
              break;
            case number(LaunchArg::kInt):
              value = std::to_string(arg.get_int64());
              break;
            case number(LaunchArg::kUint):
              value = std::to_string(arg.get_uint64());
              break;
            default:
              arg.skip();
          }
        }
        if (!value.empty()) add_arg(out, key, value);
        break;
      }
      default:
        m.skip();
    }
  }
}

void Decoder::gpu_counters(std::string_view bytes, Sequence& sequence,
                           TrackEvent& out) {
  GpuCounterSet own;
  const GpuCounterSet* set = &own;
  std::optional<std::int64_t> gpu;
  std::vector<std::pair<std::uint64_t, std::string>> values;
  pbf_message<GpuCounters> m{bytes};
  while (m.next()) {
    switch (m.tag_and_type()) {
      case number(GpuCounters::kGpu):
        gpu = static_cast<std::int32_t>(m.get_int64());
        break;
      case number(GpuCounters::kDescriptorId): {
        const auto known = sequence.gpu_counters.find(m.get_uint64());
        if (known == sequence.gpu_counters.end()) {
          throw BadPacket("counters of a GPU that no packet before describes");
        }
        set = &known->second;
        break;
      }
      case content(GpuCounters::kDescriptor):
        add_specs(m.get_view(), own.names);
        break;
      case content(GpuCounters::kCounter): {
        std::uint64_t id = 0;
        std::string value;
        pbf_message<GpuCounter> counter{m.get_view()};
        while (counter.next()) {
          switch (counter.tag_and_type()) {
            case number(GpuCounter::kId):
              id = counter.get_uint64();
              break;
            case number(GpuCounter::kInt):
              value = std::to_string(counter.get_int64());
              break;
            case fixed64(GpuCounter::kDouble):
              value = json_number(counter.get_double());
              break;
            default:
              counter.skip();
          }
        }
        values.emplace_back(id, std::move(value));
        break;
      }
      default:
        m.skip();
    }
  }
  out.kind = TrackEvent::Kind::kCounter;
  out.gpu = gpu.value_or(set->gpu);
  for (auto& [id, value] : values) {
    const auto name = set->names.find(id);
    out.name = name == set->names.end() ? "" : std::string_view(name->second);
    out.value = std::move(value);
    take_(out);
  }
}

}  // namespace tta::trace::pftrace

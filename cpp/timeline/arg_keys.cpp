// SPDX-License-Identifier: BSD-3-Clause
// timeline/arg_keys.cpp: Kineto's keys, those of ROCm and of older versions; types.
#include "timeline/arg_keys.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "trace/args.h"
#include "trace/args_kept.h"

namespace tta::timeline {
namespace {

// The product of an array's positive numbers; -1 if there are none, one is not, or it
// does not fit.
std::int64_t product(std::string_view array) {
  std::int64_t out = 1;
  bool any = false, sound = true;
  trace::for_each_element(array, [&](std::string_view element) {
    const auto number = trace::as_int(element);
    any = true;
    if (!number || *number <= 0 ||
        out > std::numeric_limits<std::int64_t>::max() / *number) {
      sound = false;
    } else if (sound) {
      out *= *number;
    }
  });
  return any && sound ? out : -1;
}

// A hash of an array's numbers in their order (FNV-1a, a number at a time); never
// negative.
std::int64_t shape(std::string_view array) {
  std::uint64_t hash = 14695981039346656037u;
  trace::for_each_element(array, [&](std::string_view element) {
    hash ^= static_cast<std::uint64_t>(trace::as_int(element).value_or(-1));
    hash *= 1099511628211u;
  });
  return static_cast<std::int64_t>(hash >> 1);
}

std::int64_t count(std::string_view value) {
  return std::max<std::int64_t>(-1, trace::as_int(value).value_or(-1));
}

double amount(std::string_view value) {
  const auto number = trace::as_double(value);
  return number && *number >= 0 ? *number : -1;
}

// The first of several that say it counts.
template <typename T>
void take(T& field, T found) {
  if (field < 0) field = found;
}
template <auto field>
void take_count(std::string_view value, WorkArgs& out) {
  take(out.*field, count(value));
}
template <auto field>
void take_amount(std::string_view value, WorkArgs& out) {
  take(out.*field, amount(value));
}
template <auto size, auto form>
void take_extent(std::string_view value, WorkArgs& out) {
  take(out.*size, product(value));
  if (out.*size >= 0) take(out.*form, shape(value));
}
constexpr auto take_grid = take_extent<&WorkArgs::blocks, &WorkArgs::grid_shape>;
constexpr auto take_block =
    take_extent<&WorkArgs::block_threads, &WorkArgs::block_shape>;
void take_way(std::string_view value, WorkArgs& out) {
  const auto way = trace::as_string(value).value_or("");
  out.way = way == "HOST_TO_DEVICE"   ? WorkArgs::Way::kToDevice
            : way == "DEVICE_TO_HOST" ? WorkArgs::Way::kToHost
                                      : WorkArgs::Way::kUnknown;
}
void take_limits(std::string_view value, WorkArgs& out) {
  if (!value.starts_with('{')) return;
  if (auto text = trace::string_arg(value, "limitingFactors")) {
    out.limiting_factors = std::move(*text);
  }
}

void take_annotation(std::string_view value, WorkArgs& out) {
  out.annotation = trace::as_string(value).value_or("");
}

template <auto field>
void set_text(std::string_view value, CollectiveArgs& out) {
  out.*field = trace::as_string(value).value_or("");
}
template <auto field>
void set_count(std::string_view value, CollectiveArgs& out) {
  out.*field = count(value);
}

// A number for each dimension of each input.
template <auto field>
void set_shapes(std::string_view value, OpArgs& out) {
  (out.*field).clear();
  trace::for_each_element(value, [&](std::string_view input) {
    auto& shape = (out.*field).emplace_back();
    bool sound = true;
    trace::for_each_element(input, [&](std::string_view size) {
      const auto number = trace::as_int(size);
      sound = sound && number && *number >= 0;
      if (sound) shape.push_back(*number);
    });
    if (!sound) shape.clear();
  });
}
void set_types(std::string_view value, OpArgs& out) {
  out.types.clear();
  trace::for_each_element(value, [&](std::string_view type) {
    out.types.push_back(trace::as_string(type).value_or(""));
  });
}

void set_values(std::string_view value, OpArgs& out) {
  out.values.clear();
  trace::for_each_element(value, [&](std::string_view input) {
    out.values.push_back(trace::as_string(input).value_or(std::string(input)));
  });
}

template <typename Args>
struct ArgKey {
  std::string_view name;
  void (*read)(std::string_view value, Args& out);
};
constexpr std::array<ArgKey<WorkArgs>, 17> kWorkKeys = {{
    {"grid", take_grid},
    {"grid dim", take_grid},
    {"block", take_block},
    {"block dim", take_block},
    {"registers per thread", take_count<&WorkArgs::registers>},
    {"shared memory", take_count<&WorkArgs::shared_memory>},
    {"shared size", take_count<&WorkArgs::shared_memory>},
    {"est. achieved occupancy %", take_amount<&WorkArgs::occupancy>},
    {"blocks per SM", take_amount<&WorkArgs::blocks_per_sm>},
    {"warps per SM", take_amount<&WorkArgs::warps_per_sm>},
    {"bytes", take_count<&WorkArgs::bytes>},
    {"size", take_count<&WorkArgs::bytes>},
    {"memory bandwidth (GB/s)", take_amount<&WorkArgs::bandwidth>},
    {"graph id", take_count<&WorkArgs::graph_id>},
    {"direction", take_way},
    {"occupancy", take_limits},
    {kThreadName, take_annotation},
}};
constexpr std::array<ArgKey<CollectiveArgs>, 10> kCollectiveKeys = {{
    {"Collective name", set_text<&CollectiveArgs::name>},
    {"dtype", set_text<&CollectiveArgs::dtype>},
    {"Process Group Name", set_text<&CollectiveArgs::group>},
    {"Process Group Ranks", set_text<&CollectiveArgs::ranks>},
    {"Src Rank", set_count<&CollectiveArgs::peer>},
    {"Dst Rank", set_count<&CollectiveArgs::peer>},
    {"In msg nelems", set_count<&CollectiveArgs::in_elements>},
    {"Out msg nelems", set_count<&CollectiveArgs::out_elements>},
    {"Group size", set_count<&CollectiveArgs::group_size>},
    {"Seq", set_count<&CollectiveArgs::sequence>},
}};
constexpr std::array<ArgKey<OpArgs>, 5> kOpKeys = {{
    {"Input Dims", set_shapes<&OpArgs::dims>},
    {"Input dims", set_shapes<&OpArgs::dims>},
    {"Input Strides", set_shapes<&OpArgs::strides>},
    {"Input type", set_types},
    {"Concrete Inputs", set_values},
}};

// A key that the load does not keep would never be found here; one that is kept and not
// read would only take memory.
consteval bool read_what_is_kept() {
  std::array<std::string_view,
             kWorkKeys.size() + kCollectiveKeys.size() + kOpKeys.size()>
      read;
  auto end = read.begin();
  for (const auto& key : kWorkKeys) *end++ = key.name;
  for (const auto& key : kCollectiveKeys) *end++ = key.name;
  for (const auto& key : kOpKeys) *end++ = key.name;
  auto kept = trace::kKeptKeys;
  std::sort(read.begin(), read.end());
  std::sort(kept.begin(), kept.end());
  return std::equal(read.begin(), read.end(), kept.begin(), kept.end());
}
static_assert(read_what_is_kept(), "keys here and in trace/args_kept.h differ");

template <const auto& keys, typename Args>
void read_one_of(std::string_view key, std::string_view value, Args& out) {
  // As bits: most other keys are told apart from all of these by their length.
  constexpr auto kLengths = [] {
    std::uint32_t bits = 0;
    for (const auto& known : keys) bits |= std::uint32_t{1} << known.name.size();
    return bits;
  }();
  if (key.size() >= 32 || (kLengths >> key.size() & 1) == 0) return;
  for (const auto& known : keys) {
    if (known.name == key) return known.read(value, out);
  }
}

// Bytes of the types that torch names: c10::ScalarType as "dtype" of collectives, C++
// as "Input type".
struct Types {
  std::int64_t bytes;
  std::string_view names;
};
constexpr std::array kTypes = {
    Types{1,
          "|Char|Byte|Bool|Float8_e4m3fn|Float8_e5m2|signed char|"
          "unsigned char|bool|Float8_e4m3fnuz|Float8_e5m2fnuz|"
          "c10::Float8_e4m3fn|c10::Float8_e5m2|"},
    Types{2, "|Half|BFloat16|Short|c10::Half|c10::BFloat16|short|short int|"},
    Types{4, "|Float|Int|float|int|"},
    Types{8,
          "|Double|Long|ComplexFloat|double|long|long int|"
          "c10::complex<float>|"},
    Types{16, "|ComplexDouble|c10::complex<double>|"},
};

}  // namespace

std::int64_t CollectiveArgs::bytes() const {
  const auto elements = std::max(in_elements, out_elements);
  const auto each = element_bytes(dtype);
  if (elements < 0 || each < 0 ||
      elements > std::numeric_limits<std::int64_t>::max() / each) {
    return -1;
  }
  return elements * each;
}

std::int64_t element_bytes(std::string_view dtype) {
  const auto word = "|" + std::string(dtype) + "|";
  for (const auto& type : kTypes) {
    if (type.names.find(word) != type.names.npos) return type.bytes;
  }
  return -1;
}

void read_work(std::string_view key, std::string_view value, WorkArgs& out) {
  read_one_of<kWorkKeys>(key, value, out);
}

void read_collective(std::string_view key, std::string_view value,
                     CollectiveArgs& out) {
  read_one_of<kCollectiveKeys>(key, value, out);
}

void read_op(std::string_view key, std::string_view value, OpArgs& out) {
  read_one_of<kOpKeys>(key, value, out);
}

}  // namespace tta::timeline

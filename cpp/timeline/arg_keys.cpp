// SPDX-License-Identifier: BSD-3-Clause
// timeline/arg_keys.cpp: Kineto's keys, those of ROCm and of older versions.
#include "timeline/arg_keys.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "trace/args.h"

namespace tta::timeline {
namespace {

struct Type {
  std::string_view name;
  std::int64_t bytes;
};
// c10::ScalarType as "dtype" of collectives, and C++ names as "Input type".
constexpr std::array<Type, 32> kTypes = {{
    {"Float", 4},
    {"Double", 8},
    {"Half", 2},
    {"BFloat16", 2},
    {"Long", 8},
    {"Int", 4},
    {"Short", 2},
    {"Char", 1},
    {"Byte", 1},
    {"Bool", 1},
    {"ComplexFloat", 8},
    {"ComplexDouble", 16},
    {"Float8_e4m3fn", 1},
    {"Float8_e5m2", 1},
    {"float", 4},
    {"double", 8},
    {"c10::Half", 2},
    {"c10::BFloat16", 2},
    {"long", 8},
    {"long int", 8},
    {"int", 4},
    {"short", 2},
    {"short int", 2},
    {"signed char", 1},
    {"unsigned char", 1},
    {"bool", 1},
    {"Float8_e4m3fnuz", 1},
    {"Float8_e5m2fnuz", 1},
    {"c10::complex<float>", 8},
    {"c10::complex<double>", 16},
    {"c10::Float8_e4m3fn", 1},
    {"c10::Float8_e5m2", 1},
}};

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

// A number for each dimension of each input.
void read_shapes(std::string_view value, std::vector<std::vector<std::int64_t>>& out) {
  out.clear();
  trace::for_each_element(value, [&](std::string_view input) {
    auto& shape = out.emplace_back();
    bool sound = true;
    trace::for_each_element(input, [&](std::string_view size) {
      const auto number = trace::as_int(size);
      sound = sound && number && *number >= 0;
      if (sound) shape.push_back(*number);
    });
    if (!sound) shape.clear();
  });
}

// The lengths of keys, as bits: most keys are told apart from all of a list by theirs.
template <typename... Keys>
constexpr std::uint32_t lengths_of(Keys... keys) {
  return ((std::uint32_t{1} << std::string_view(keys).size()) | ...);
}
bool may_be_one(std::uint32_t lengths, std::string_view key) {
  return key.size() < 32 && (lengths >> key.size() & 1) != 0;
}
constexpr auto kWorkLengths = lengths_of(
    "grid", "grid dim", "block", "block dim", "registers per thread", "shared memory",
    "shared size", "est. achieved occupancy %", "blocks per SM", "warps per SM",
    "bytes", "size", "direction", "memory bandwidth (GB/s)", "graph id", "occupancy");
constexpr auto kCollectiveLengths =
    lengths_of("Collective name", "dtype", "Process Group Name", "In msg nelems",
               "Out msg nelems", "Group size", "Seq");

}  // namespace

void read_work(std::string_view key, std::string_view value, WorkArgs& out) {
  if (!may_be_one(kWorkLengths, key)) return;
  const auto first = [](auto& field, auto found) {
    if (field < 0) field = found;
  };
  if (key == "grid" || key == "grid dim") {
    first(out.blocks, product(value));
    if (out.blocks >= 0) first(out.grid_shape, shape(value));
  } else if (key == "block" || key == "block dim") {
    first(out.block_threads, product(value));
    if (out.block_threads >= 0) first(out.block_shape, shape(value));
  } else if (key == "registers per thread") {
    first(out.registers, count(value));
  } else if (key == "shared memory" || key == "shared size") {
    first(out.shared_memory, count(value));
  } else if (key == "est. achieved occupancy %") {
    first(out.occupancy, amount(value));
  } else if (key == "blocks per SM") {
    first(out.blocks_per_sm, amount(value));
  } else if (key == "warps per SM") {
    first(out.warps_per_sm, amount(value));
  } else if (key == "bytes" || key == "size") {
    first(out.bytes, count(value));
  } else if (key == "memory bandwidth (GB/s)") {
    first(out.bandwidth, amount(value));
  } else if (key == "graph id") {
    first(out.graph_id, count(value));
  } else if (key == "direction") {
    const auto way = trace::as_string(value).value_or("");
    out.way = way == "HOST_TO_DEVICE"   ? WorkArgs::Way::kToDevice
              : way == "DEVICE_TO_HOST" ? WorkArgs::Way::kToHost
                                        : WorkArgs::Way::kUnknown;
  } else if (key == "occupancy" && value.starts_with('{')) {
    if (auto text = trace::string_arg(value, "limitingFactors")) {
      out.limiting_factors = std::move(*text);
    }
  }
}

void read_collective(std::string_view key, std::string_view value,
                     CollectiveArgs& out) {
  if (!may_be_one(kCollectiveLengths, key)) return;
  if (key == "Collective name") {
    out.name = trace::as_string(value).value_or("");
  } else if (key == "dtype") {
    out.dtype = trace::as_string(value).value_or("");
  } else if (key == "Process Group Name") {
    out.group = trace::as_string(value).value_or("");
  } else if (key == "In msg nelems") {
    out.in_elements = count(value);
  } else if (key == "Out msg nelems") {
    out.out_elements = count(value);
  } else if (key == "Group size") {
    out.group_size = count(value);
  } else if (key == "Seq") {
    out.sequence = count(value);
  }
}

void read_op(std::string_view key, std::string_view value, OpArgs& out) {
  if (key == "Input Dims" || key == "Input dims") {
    read_shapes(value, out.dims);
  } else if (key == "Input Strides") {
    read_shapes(value, out.strides);
  } else if (key == "Input type") {
    out.types.clear();
    trace::for_each_element(value, [&](std::string_view type) {
      out.types.push_back(trace::as_string(type).value_or(""));
    });
  }
}

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
  for (const auto& type : kTypes) {
    if (type.name == dtype) return type.bytes;
  }
  return -1;
}

}  // namespace tta::timeline

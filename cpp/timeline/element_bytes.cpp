// SPDX-License-Identifier: BSD-3-Clause
// timeline/element_bytes.cpp: the sizes of types, and of what collectives move.
#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string_view>

#include "timeline/event_args.h"

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
  for (const auto& type : kTypes) {
    if (type.name == dtype) return type.bytes;
  }
  return -1;
}

}  // namespace tta::timeline

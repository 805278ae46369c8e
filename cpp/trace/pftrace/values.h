// SPDX-License-Identifier: BSD-3-Clause
// trace/pftrace/values.h: fields by number and form, and their values as JSON. Only for
// sources of this folder: it includes protozero.
#pragma once

#include <cstdint>
#include <map>
#include <protozero/pbf_message.hpp>
#include <string>
#include <string_view>

namespace tta::trace::pftrace {

using protozero::pbf_message;
using protozero::pbf_wire_type;

// A field in the form in which it is read: protozero asserts that a value is what it is
// read as, so fields of another form are to be skipped.
template <typename Field>
constexpr auto number(Field field) {
  return protozero::tag_and_type(field, pbf_wire_type::varint);
}
template <typename Field>
constexpr auto content(Field field) {
  return protozero::tag_and_type(field, pbf_wire_type::length_delimited);
}
template <typename Field>
constexpr auto fixed64(Field field) {
  return protozero::tag_and_type(field, pbf_wire_type::fixed64);
}

template <typename Field>
std::string_view view_of(pbf_message<Field>& message) {
  return message.get_view();
}

/// Returns the shortest text that reads as the same number; null if it is none.
std::string json_number(double value);

/// Returns a text that should be JSON as it is if it is, else as a string.
std::string json_or_string(std::string_view text);

/// Returns a text that is an integer as a number, else as a string.
std::string number_or_string(std::string_view text);

/// Returns the bits of Hint that an arg of this name is.
std::uint32_t hints_of(std::string_view key);

/// Adds the names of a GpuCounterDescriptor by number.
void add_specs(std::string_view bytes, std::map<std::uint64_t, std::string>& names);

}  // namespace tta::trace::pftrace

// SPDX-License-Identifier: BSD-3-Clause
// trace/pftrace/values.h: the fields of a message, and their values as JSON. Only for
// sources of this folder: it includes protozero.
#pragma once

#include <bit>
#include <cstdint>
#include <map>
#include <protozero/pbf_reader.hpp>
#include <string>
#include <string_view>

namespace tta::trace::pftrace {

/// A field, in whatever form it is stored: of another form than it should be, it is 0
/// or empty.
struct Value {
  std::uint64_t number = 0;
  std::string_view content;

  std::int64_t integer() const { return static_cast<std::int64_t>(number); }
  std::int32_t int32() const { return static_cast<std::int32_t>(number); }
  double real() const { return std::bit_cast<double>(number); }
  std::string text() const { return std::string(content); }
};

/// Calls `visit(field, value)` for each field of a message. Throws
/// protozero::exception.
template <typename Field, typename Visit>
void each_field(std::string_view message, Visit visit) {
  protozero::pbf_reader reader{message};
  while (reader.next()) {
    Value value;
    const auto field = static_cast<Field>(reader.tag());  // before it is read
    switch (reader.wire_type()) {
      case protozero::pbf_wire_type::varint:
        value.number = reader.get_uint64();
        break;
      case protozero::pbf_wire_type::length_delimited:
        value.content = reader.get_view();
        break;
      case protozero::pbf_wire_type::fixed64:
        value.number = reader.get_fixed64();
        break;
      default:
        reader.skip();
    }
    visit(field, value);
  }
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

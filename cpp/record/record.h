// SPDX-License-Identifier: BSD-3-Clause
// record/record.h: public data, each field declared once.
//
// A record is a list of rows, FIELD(type, name, default, doc), and TTA_RECORD makes a
// struct of it whose members can be visited. From these rows come the Python class, its
// JSON form both ways, table columns, the JSON schema and the stubs
// (bindings/record.h). To see the struct a list becomes: g++ -E.
//
// A field whose name ends in `_ns` is a time or a length of time. Python has it twice,
// as `x_ns` (int) and as `x_us` (float); JSON, tables and the constructor use `x_us`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tta::record {

/// A pid or tid as the file has it: a number, or text such as "rank 0".
using Identity = std::variant<std::int64_t, std::string>;
using Process = std::optional<Identity>;  ///< None: unknown.

/// Times in ns by name. In Python a dict in which a name that is not listed has 0.
using TimesByName = std::vector<std::pair<std::string, std::int64_t>>;

/// Returns the word of an enum that has words_of().
template <typename Enum>
constexpr std::string_view word_of(Enum value) {
  return words_of(value)[static_cast<std::size_t>(value)];
}

/// A count, or a time in nanoseconds.
struct Figure {
  std::string name;
  std::int64_t value = 0;
  bool is_time = true;
  bool operator==(const Figure&) const = default;
};
/// In Python one dict, in which the names of times end in `_us`.
using Figures = std::vector<Figure>;

/// Shares from 0 to 1 by name.
using SharesByName = std::vector<std::pair<std::string, double>>;

/// Returns microseconds: the nearest double, also of times since 1970, which no double
/// holds in nanoseconds.
constexpr double us_of(std::int64_t ns) {
  constexpr std::int64_t kExact = std::int64_t{1} << 53;
  if (-kExact < ns && ns < kExact) return static_cast<double>(ns) / 1000;
  return static_cast<double>(ns / 1000) + static_cast<double>(ns % 1000) / 1000;
}

#define TTA_RECORD_MEMBER(type, name, value, doc) type name = value;
#define TTA_RECORD_VISIT(type, name, value, doc) \
  visit(Field<&Self::name, std::string_view(#name).ends_with("_ns")>{#name, doc});

/// A field of a record, as visitors get it.
template <auto Member, bool IsTime>
struct Field {
  std::string_view name;  ///< As declared.
  const char* doc;

  static constexpr bool kIsTime = IsTime;
  /// Returns the field of a record.
  static auto& of(auto& record) { return record.*Member; }
};

/// Makes a struct. `Self::visit_fields(visit)` calls visit(Field) for each in order.
#define TTA_RECORD(Name, FIELDS, doc)                   \
  struct Name {                                         \
    FIELDS(TTA_RECORD_MEMBER)                           \
    using Self = Name;                                  \
    template <auto Member, bool IsTime>                 \
    using Field = ::tta::record::Field<Member, IsTime>; \
    static constexpr std::string_view kName = #Name;    \
    static constexpr std::string_view kDoc = doc;       \
    template <typename Visit>                           \
    static void visit_fields(Visit&& visit) {           \
      FIELDS(TTA_RECORD_VISIT)                          \
    }                                                   \
    bool operator==(const Name&) const = default;       \
  };

template <typename T>
concept Record = requires { T::kName; };

}  // namespace tta::record

// SPDX-License-Identifier: BSD-3-Clause
// bindings/record.h: the Python class of a record (record/record.h), made of its rows.
//
// A class has a read-only property for each field, a constructor with defaults, ==,
// hash, repr, pickle, replace(), to_dict() and from_dict(), which are its JSON form.
// Tables and the JSON schema are made of what _core.fields returns for it. Lists become
// tuples. Each access to a nested record makes a new object: keep it in a loop.
//
// A type of member is converted by one pair of functions, wherever it stands: templates
// over fields took minutes to compile.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/typing.h>

#include <concepts>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "record/record.h"

namespace tta::bindings {

namespace py = pybind11;
using record::Record;

/// How a value is written in Python.
enum class Form {
  kExact,  ///< Times in ns: of properties `_ns` and pickles.
  kShown,  ///< Times in us: of properties `_us` and the constructor.
  kJson,   ///< The same; records are dicts, tuples lists.
};

/// How a member is to be written or read.
struct How {
  Form form = Form::kShown;
  bool is_time = false;
};

/// Converts members of one type. Reading raises ValueError that names the member at
/// `path` if the value is of another kind.
struct Conversion {
  py::object (*write)(const void* member, How how);
  void (*read)(void* member, py::handle value, How how, const std::string& path);
  /// "text", "int", "count", "float", "bool", "identity", the words of an enumeration
  /// ("low|medium|high") or the name of a record; with "?" if it may be None, "*" if it
  /// is a list, "{}" if it is a dict of these.
  std::string (*kind)(How how);
  std::string (*annotation)(How how);  ///< As stubs have it.
};

struct FieldInfo {
  std::string name;   ///< "start_ns"; a trailing '_' of the declaration is left out.
  std::string shown;  ///< "start_us" of a time.
  const char* doc;
  bool is_time;
  bool is_optional;
  std::size_t offset;
  Conversion conversion;

  py::object get(const void* record, Form form) const {
    return conversion.write(static_cast<const char*>(record) + offset, {form, is_time});
  }
  void set(void* record, py::handle value, Form form, const std::string& path) const {
    conversion.read(static_cast<char*>(record) + offset, value, {form, is_time}, path);
  }
};

struct RecordInfo {
  std::string name;
  std::vector<FieldInfo> fields;
};

py::dict to_dict(const RecordInfo& info, const void* record);
void from_dict(const RecordInfo& info, void* record, py::handle form,
               const std::string& path);
py::tuple values_of(const RecordInfo& info, const void* record, Form form);
/// Takes values in order: those of a constructor, or with kExact those of a pickle.
void set_values(const RecordInfo& info, void* record, const py::tuple& values,
                Form form);
/// Sets fields by keyword, times by `x_us` or `x_ns`. Raises TypeError for others.
void set_fields(const RecordInfo& info, void* record, const py::kwargs& given);
std::string repr_of(const RecordInfo& info, const void* record);
/// Adds the properties, and makes the class known to `fields` and to unpickling.
/// `read` gets a field of a Python object, `make` a record of exact values.
using ReadField = py::object (*)(py::handle self, const FieldInfo& field, Form form);
using MakeRecord = py::object (*)(const py::tuple& values);
void add_properties(const RecordInfo& info, py::handle cls, ReadField read,
                    MakeRecord make);
/// What __reduce__ returns.
py::tuple reduced(const RecordInfo& info, const void* record);

[[noreturn]] void refuse_value(const std::string& path, const std::string& want,
                               py::handle value);
/// dict, but that a key which is missing reads as 0.0.
py::object& times_class();

// Of the types that members are made of; the others are below.
py::object write_member(bool value, How how);
py::object write_member(double value, How how);
py::object write_member(std::int64_t value, How how);
py::object write_member(const std::string& value, How how);
py::object write_member(const record::Identity& value, How how);
py::object write_member(const record::TimesByName& value, How how);
py::object write_member(const record::SharesByName& value, How how);
py::object write_member(const record::Figures& value, How how);
void read_member(bool& out, py::handle value, How how, const std::string& path);
void read_member(double& out, py::handle value, How how, const std::string& path);
void read_member(std::string& out, py::handle value, How how, const std::string& path);
void read_member(record::Identity& out, py::handle value, How how,
                 const std::string& path);
void read_member(record::TimesByName& out, py::handle value, How how,
                 const std::string& path);
void read_member(record::SharesByName& out, py::handle value, How how,
                 const std::string& path);
void read_member(record::Figures& out, py::handle value, How how,
                 const std::string& path);
/// Reads a whole number in [least, most]; of a time its nearest nanosecond.
std::int64_t read_number(py::handle value, How how, const std::string& path,
                         std::int64_t least, std::int64_t most);

template <template <typename...> typename Of, typename T>
inline constexpr bool kIs = false;
template <template <typename...> typename Of, typename... Parts>
inline constexpr bool kIs<Of, Of<Parts...>> = true;

template <typename T>
concept Number = std::integral<T> && !std::same_as<T, bool>;
template <typename T>
concept ByName =
    std::same_as<T, record::TimesByName> || std::same_as<T, record::SharesByName> ||
    std::same_as<T, record::Figures>;

template <Record T>
const RecordInfo& info_of();

template <typename T>
py::object write(const T& value, How how) {
  if constexpr (kIs<std::optional, T>) {
    return value ? write(*value, how) : py::object(py::none());
  } else if constexpr (kIs<std::vector, T> && !ByName<T>) {
    py::tuple out(value.size());
    for (std::size_t i = 0; i < value.size(); ++i) out[i] = write(value[i], how);
    return how.form == Form::kJson ? py::object(py::list(out)) : py::object(out);
  } else if constexpr (Record<T>) {
    if (how.form == Form::kJson) return to_dict(info_of<T>(), &value);
    return py::cast(value);
  } else if constexpr (std::is_enum_v<T>) {
    return py::str(record::word_of(value));
  } else if constexpr (Number<T>) {
    return write_member(static_cast<std::int64_t>(value), how);
  } else {
    return write_member(value, how);
  }
}

template <typename T>
void read(T& out, py::handle value, How how, const std::string& path) {
  if constexpr (kIs<std::optional, T>) {
    out.reset();
    if (!value.is_none()) read(out.emplace(), value, how, path);
  } else if constexpr (kIs<std::vector, T> && !ByName<T>) {
    if (!PyList_Check(value.ptr()) && !PyTuple_Check(value.ptr())) {
      refuse_value(path, "a list", value);
    }
    out.clear();
    for (const auto& one : py::reinterpret_borrow<py::sequence>(value)) {
      const auto at = path + "[" + std::to_string(out.size()) + "]";
      read(out.emplace_back(), one, how, at);
    }
  } else if constexpr (Record<T>) {
    if (how.form == Form::kJson) return from_dict(info_of<T>(), &out, value, path);
    if (!py::isinstance<T>(value)) refuse_value(path, "a " + info_of<T>().name, value);
    out = py::cast<const T&>(value);
  } else if constexpr (std::is_enum_v<T>) {
    const auto words = words_of(T{});
    std::string all;
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (value.equal(py::str(words[i]))) {
        out = static_cast<T>(i);
        return;
      }
      all += (i ? ", " : "") + std::string(words[i]);
    }
    refuse_value(path, "one of " + all, value);
  } else if constexpr (Number<T>) {
    using Limits = std::numeric_limits<T>;
    constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
    constexpr bool kFits = std::cmp_less_equal(Limits::max(), kMost);
    out = static_cast<T>(
        read_number(value, how, path, static_cast<std::int64_t>(Limits::min()),
                    kFits ? static_cast<std::int64_t>(Limits::max()) : kMost));
  } else {
    read_member(out, value, how, path);
  }
}

template <typename T>
std::string kind_of(How how) {
  if constexpr (kIs<std::optional, T>) {
    return kind_of<typename T::value_type>(how) + "?";
  } else if constexpr (ByName<T>) {
    return "float{}";
  } else if constexpr (kIs<std::vector, T>) {
    return kind_of<typename T::value_type>(how) + "*";
  } else if constexpr (Record<T>) {
    return std::string(T::kName);
  } else if constexpr (std::is_enum_v<T>) {
    std::string out;
    for (const auto word : words_of(T{})) {
      out += (out.empty() ? "" : "|") + std::string(word);
    }
    return out;
  } else if constexpr (std::same_as<T, bool>) {
    return "bool";
  } else if constexpr (std::same_as<T, record::Identity>) {
    return "identity";
  } else if constexpr (std::same_as<T, std::string>) {
    return "text";
  } else {
    if (how.is_time || std::same_as<T, double>) return "float";
    return std::is_unsigned_v<T> ? "count" : "int";
  }
}

template <typename T>
std::string annotation_of(How how) {
  if constexpr (kIs<std::optional, T>) {
    return annotation_of<typename T::value_type>(how) + " | None";
  } else if constexpr (ByName<T>) {
    return how.form == Form::kExact ? "dict[str, int]" : "dict[str, float]";
  } else if constexpr (kIs<std::vector, T>) {
    return "tuple[" + annotation_of<typename T::value_type>(how) + ", ...]";
  } else if constexpr (Record<T>) {
    return "torchtraceap._core." + std::string(T::kName);
  } else if constexpr (std::same_as<T, bool>) {
    return "bool";
  } else if constexpr (std::same_as<T, record::Identity>) {
    return "int | str";
  } else if constexpr (std::is_enum_v<T> || std::same_as<T, std::string>) {
    return "str";
  } else {
    const bool us = how.is_time && how.form != Form::kExact;
    return us || std::same_as<T, double> ? "float" : "int";
  }
}

template <typename T>
Conversion conversion_of() {
  return {[](const void* member, How how) {
            return write(*static_cast<const T*>(member), how);
          },
          [](void* member, py::handle value, How how, const std::string& path) {
            read(*static_cast<T*>(member), value, how, path);
          },
          &kind_of<T>, &annotation_of<T>};
}

template <Record T>
const RecordInfo& info_of() {
  static const RecordInfo info = [] {
    RecordInfo out{std::string(T::kName), {}};
    T::visit_fields([&]<typename Field>(const Field& field) {
      static const T sample;
      using Member = std::remove_cvref_t<decltype(Field::of(sample))>;
      const auto offset = reinterpret_cast<const char*>(&Field::of(sample)) -
                          reinterpret_cast<const char*>(&sample);
      std::string name(
          field.name.substr(0, field.name.size() - field.name.ends_with('_')));
      auto shown = Field::kIsTime ? name.substr(0, name.size() - 3) + "_us" : name;
      out.fields.push_back({std::move(name), std::move(shown), field.doc,
                            Field::kIsTime, kIs<std::optional, Member>,
                            static_cast<std::size_t>(offset), conversion_of<Member>()});
    });
    return out;
  }();
  return info;
}

/// Returns records as a tuple.
template <Record T>
py::typing::Tuple<T, py::ellipsis> as_tuple(const std::vector<T>& records) {
  return write(records, {});
}

/// The same of those that `make` returns, which runs without the interpreter's lock.
template <typename Make>
auto tuple_of(Make make) {
  const auto records = [&] {
    const py::gil_scoped_release release;
    return make();
  }();
  return as_tuple(records);
}

using Values = py::typing::Tuple<py::object, py::ellipsis>;

/// Binds a record under its own name.
template <Record T>
py::class_<T> bind_record(py::module_& m) {
  const auto& info = info_of<T>();
  py::class_<T> out(m, info.name.c_str(), std::string(T::kDoc).c_str());
  add_properties(
      info, out,
      [](py::handle self, const FieldInfo& field, Form form) {
        return field.get(&py::cast<const T&>(self), form);
      },
      [](const py::tuple& values) {
        T made;
        set_values(info_of<T>(), &made, values, Form::kExact);
        return py::cast(std::move(made));
      });
  out.def(py::init(
      [&info](const py::Args<py::object>& values, const py::KWArgs<py::object>& named) {
        T made;
        set_values(info, &made, values, Form::kShown);
        set_fields(info, &made, named);
        if constexpr (requires { finish(made); }) finish(made);
        return made;
      }));
  out.def("__eq__", [](const T& v, const py::object& other) {
    return py::isinstance<T>(other) && v == py::cast<const T&>(other);
  });
  out.def("__hash__",
          [&info](const T& v) { return py::hash(values_of(info, &v, Form::kExact)); });
  out.def("__repr__", [&info](const T& v) { return repr_of(info, &v); });
  out.def("__reduce__", [&info](const T& v) -> Values { return reduced(info, &v); });
  out.def(
      "replace",
      [&info](const T& v, const py::KWArgs<py::object>& changes) {
        T changed = v;
        set_fields(info, &changed, changes);
        return changed;
      },
      "Return a copy in which some fields have other values.");
  out.def(
      "to_dict",
      [&info](const T& v) -> py::typing::Dict<py::str, py::object> {
        return to_dict(info, &v);
      },
      "Return its JSON form.");
  out.def_static(
      "from_dict",
      [&info](const py::object& form, const std::string& where) {
        T made;
        from_dict(info, &made, form, where.empty() ? info.name : where);
        return made;
      },
      py::arg("form"), py::arg("where") = "",
      "Read its JSON form, see `fields`. ValueError names the member below `where`.");
  return out;
}

}  // namespace tta::bindings

// SPDX-License-Identifier: BSD-3-Clause
// bindings/bind_records.cpp: the parts of bindings/record.h that are the same for all.
#include <cmath>
#include <map>

#include "bindings/bindings.h"
#include "bindings/record.h"

namespace tta::bindings {
namespace {

struct Known {
  const RecordInfo* info;
  MakeRecord make;
};

std::map<std::string, Known>& records() {
  static std::map<std::string, Known> all;
  return all;
}

const Known& entry_of(const std::string& name) {
  const auto found = records().find(name);
  if (found == records().end()) throw py::type_error(name + " is not a record");
  return found->second;
}

constexpr How kMicroseconds{Form::kShown, true};

// Calls visit(key, value) for the items of a dict.
template <typename Visit>
void for_each_item(py::handle value, const std::string& path, Visit&& visit) {
  if (!PyDict_Check(value.ptr())) refuse_value(path, "an object", value);
  for (const auto& [key, one] : py::reinterpret_borrow<py::dict>(value)) {
    std::string name;
    read_member(name, key, {}, path);
    visit(std::move(name), one, path + "." + std::string(py::str(key)));
  }
}

}  // namespace

py::object& times_class() {
  // Kept for good: it must outlive the interpreter's modules.
  static auto* kept = [] {
    py::dict members;
    members["__missing__"] =
        py::cpp_function([](const py::object&, const py::object&) { return 0.0; },
                         py::is_method(py::none()));
    members["__reduce__"] = py::cpp_function(
        [](const py::object& self) {
          const py::handle dict(reinterpret_cast<PyObject*>(&PyDict_Type));
          return py::make_tuple(dict, py::make_tuple(dict(self)));
        },
        py::is_method(py::none()));
    members["__doc__"] = "Microseconds by name; 0 for a name that is not listed.";
    members["__module__"] = "torchtraceap._core";
    const py::handle type(reinterpret_cast<PyObject*>(&PyType_Type));
    const py::handle dict(reinterpret_cast<PyObject*>(&PyDict_Type));
    return new py::object(type("ByName", py::make_tuple(dict), members));
  }();
  return *kept;
}

void refuse_value(const std::string& path, const std::string& want, py::handle value) {
  throw py::value_error(path + " must be " + want + ", but is " +
                        std::string(py::repr(value)).substr(0, 80));
}

// --- Members
// --------------------------------------------------------------------------

py::object write_member(bool value, How) { return py::bool_(value); }
py::object write_member(double value, How) { return py::float_(value); }
py::object write_member(const std::string& value, How) { return text(value); }
py::object write_member(const record::Identity& value, How) {
  if (const auto* name = std::get_if<std::string>(&value)) return text(*name);
  return py::int_(std::get<std::int64_t>(value));
}

py::object write_member(std::int64_t value, How how) {
  if (!how.is_time || how.form == Form::kExact) return py::int_(value);
  return py::float_(record::us_of(value));
}

py::object write_member(const record::TimesByName& value, How how) {
  py::object out = how.form == Form::kShown ? times_class()() : py::dict();
  for (const auto& [name, ns] : value) {
    out[py::str(name)] = write_member(ns, {how.form, true});
  }
  return out;
}

py::object write_member(const record::SharesByName& value, How) {
  py::dict out;
  for (const auto& [name, share] : value) out[py::str(name)] = share;
  return out;
}

py::object write_member(const record::Figures& value, How) {
  py::dict out;
  for (const auto& [name, number, is_time] : value) {
    out[py::str(is_time ? name + "_us" : name)] =
        write_member(number, {Form::kShown, is_time});
  }
  return out;
}

void read_member(bool& out, py::handle value, How, const std::string& path) {
  if (!PyBool_Check(value.ptr())) refuse_value(path, "true or false", value);
  out = value.is(py::bool_(true));
}

void read_member(double& out, py::handle value, How, const std::string& path) {
  const bool is_number = PyFloat_Check(value.ptr()) || PyIndex_Check(value.ptr());
  if (!is_number || PyBool_Check(value.ptr())) refuse_value(path, "a number", value);
  out = PyFloat_AsDouble(value.ptr());
  if (PyErr_Occurred()) {
    PyErr_Clear();
    refuse_value(path, "a number below 1.8e308", value);
  }
  if (!std::isfinite(out)) refuse_value(path, "a finite number", value);
}

void read_member(std::string& out, py::handle value, How, const std::string& path) {
  if (!py::isinstance<py::str>(value)) refuse_value(path, "text", value);
  out = py::cast<std::string>(value);
}

void read_member(record::Identity& out, py::handle value, How,
                 const std::string& path) {
  if (py::isinstance<py::str>(value)) {
    out = py::cast<std::string>(value);
  } else {
    std::int64_t number = 0;
    read(number, value, {}, path);
    out = number;
  }
}

void read_member(record::TimesByName& out, py::handle value, How how,
                 const std::string& path) {
  out.clear();
  for_each_item(value, path, [&](std::string key, py::handle one, const auto& at) {
    std::int64_t ns = 0;
    read(ns, one, {how.form, true}, at);
    out.emplace_back(std::move(key), ns);
  });
}

void read_member(record::SharesByName& out, py::handle value, How how,
                 const std::string& path) {
  out.clear();
  for_each_item(value, path, [&](std::string key, py::handle one, const auto& at) {
    double share = 0;
    read_member(share, one, how, at);
    out.emplace_back(std::move(key), share);
  });
}

void read_member(record::Figures& out, py::handle value, How, const std::string& path) {
  out.clear();
  for_each_item(value, path, [&](std::string key, py::handle one, const auto& at) {
    record::Figure figure{std::move(key), 0, false};
    figure.is_time = figure.name.ends_with("_us");
    read(figure.value, one, figure.is_time ? kMicroseconds : How{}, at);
    if (figure.is_time) figure.name.resize(figure.name.size() - 3);
    out.push_back(std::move(figure));
  });
}

std::int64_t read_number(py::handle value, How how, const std::string& path,
                         std::int64_t least, std::int64_t most) {
  if (how.is_time && how.form != Form::kExact) {
    double us = 0;
    read_member(us, value, how, path);
    if (std::abs(us) > 9e15) refuse_value(path, "a time below 285 years", value);
    const auto whole = std::trunc(us);
    return static_cast<std::int64_t>(whole) * 1000 + std::llround((us - whole) * 1000);
  }
  // As operator.index takes them: NumPy's integers too, but no bool.
  if (!PyIndex_Check(value.ptr()) || PyBool_Check(value.ptr())) {
    refuse_value(path, "a whole number", value);
  }
  const auto index = py::reinterpret_steal<py::object>(PyNumber_Index(value.ptr()));
  const auto number = index ? PyLong_AsLongLong(index.ptr()) : -1;
  if (PyErr_Occurred() || number < least || number > most) {
    PyErr_Clear();
    refuse_value(
        path,
        "a whole number from " + std::to_string(least) + " to " + std::to_string(most),
        value);
  }
  return number;
}

// --- Records
// --------------------------------------------------------------------------

py::dict to_dict(const RecordInfo& info, const void* record) {
  py::dict out;
  for (const auto& field : info.fields) {
    out[py::str(field.shown)] = field.get(record, Form::kJson);
  }
  return out;
}

void from_dict(const RecordInfo& info, void* record, py::handle form,
               const std::string& path) {
  if (!PyDict_Check(form.ptr())) refuse_value(path, "an object", form);
  const auto members = py::reinterpret_borrow<py::dict>(form);
  for (const auto& field : info.fields) {
    const py::str key(field.shown);
    if (members.contains(key)) {
      field.set(record, members[key], Form::kJson, path + "." + field.shown);
    } else if (!field.is_optional) {
      throw py::value_error(path + " has no " + field.shown);
    }
  }
}

py::tuple values_of(const RecordInfo& info, const void* record, Form form) {
  py::tuple out(info.fields.size());
  for (std::size_t i = 0; i < info.fields.size(); ++i) {
    out[i] = info.fields[i].get(record, form);
  }
  return out;
}

void set_values(const RecordInfo& info, void* record, const py::tuple& values,
                Form form) {
  if (values.size() > info.fields.size()) {
    throw py::type_error(info.name + " has " + std::to_string(info.fields.size()) +
                         " fields, but " + std::to_string(values.size()) +
                         " values were given");
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto& field = info.fields[i];
    field.set(record, values[i], form, info.name + "." + field.shown);
  }
}

void set_fields(const RecordInfo& info, void* record, const py::kwargs& given) {
  for (const auto& [key, value] : given) {
    const auto name = py::cast<std::string>(key);
    const FieldInfo* found = nullptr;
    for (const auto& field : info.fields) {
      if (name == field.shown || name == field.name) found = &field;
    }
    if (found == nullptr) throw py::type_error(info.name + " has no field " + name);
    const auto form = name == found->shown ? Form::kShown : Form::kExact;
    found->set(record, value, form, info.name + "." + name);
  }
}

std::string repr_of(const RecordInfo& info, const void* record) {
  std::string out;
  for (const auto& field : info.fields) {
    out += (out.empty() ? "" : ", ") + field.shown + "=" +
           std::string(py::repr(field.get(record, Form::kShown)));
  }
  return info.name + "(" + out + ")";
}

py::tuple reduced(const RecordInfo& info, const void* record) {
  return py::make_tuple(
      py::module_::import("torchtraceap._core").attr("restore_record"),
      py::make_tuple(info.name, values_of(info, record, Form::kExact)));
}

void add_properties(const RecordInfo& info, py::handle cls, ReadField read,
                    MakeRecord make) {
  records()[info.name] = {&info, make};
  const py::handle property(reinterpret_cast<PyObject*>(&PyProperty_Type));
  for (const auto& field : info.fields) {
    const auto add = [&](const std::string& name, Form form) {
      // In place of pybind11's own signature, which would say object: for the stubs.
      const auto signature = "(self: torchtraceap._core." + info.name + ") -> " +
                             field.conversion.annotation({form, field.is_time});
      py::options options;
      options.disable_function_signatures();
      const py::cpp_function get(
          [&field, form, read](py::handle self) { return read(self, field, form); },
          py::is_method(cls), py::doc(signature.c_str()));
      py::setattr(cls, name.c_str(), property(get, py::none(), py::none(), field.doc));
    };
    add(field.shown, Form::kShown);
    if (field.is_time) add(field.name, Form::kExact);
  }
}

void bind_records(py::module_& m) {
  using Field = py::typing::Tuple<py::str, py::str, py::str>;
  m.def(
      "fields",
      [](const py::type& record) {
        py::typing::List<Field> out;
        for (const auto& field :
             entry_of(py::str(record.attr("__name__"))).info->fields) {
          out.append(py::make_tuple(
              field.shown, field.conversion.kind({Form::kShown, field.is_time}),
              field.doc));
        }
        return out;
      },
      py::arg("record"),
      "Name, kind and meaning of each member of a record. Kinds: text, int, count (0 "
      "or more), float, bool, identity (a pid or tid: a number or text), words joined "
      "by "
      "|, or a record; with ? if it may be None, * if it is a list, {} if it is a "
      "dict.");
  m.def(
      "restore_record",
      [](const std::string& name, const Values& values) {
        return entry_of(name).make(values);
      },
      py::arg("record"), py::arg("values"), "Make a record of a pickle's values.");
}

}  // namespace tta::bindings

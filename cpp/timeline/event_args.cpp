// SPDX-License-Identifier: BSD-3-Clause
// timeline/event_args.cpp: which rows are read, and which keys hold what.
#include "timeline/event_args.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include "trace/args.h"

namespace tta::timeline {
namespace {

using trace::Category;

// Operators by whose inputs a rule tells what they do.
constexpr std::array<std::string_view, 31> kOperators = {
    "aten::mm",
    "aten::bmm",
    "aten::addmm",
    "aten::baddbmm",
    "aten::matmul",
    "aten::linear",
    "aten::_scaled_mm",
    "aten::convolution",
    "aten::conv1d",
    "aten::conv2d",
    "aten::conv3d",
    "aten::conv_transpose2d",
    "aten::cudnn_convolution",
    "aten::cudnn_convolution_backward",
    "aten::cudnn_convolution_backward_input",
    "aten::cudnn_convolution_backward_weight",
    "aten::miopen_convolution",
    "aten::convolution_backward",
    "aten::softmax",
    "aten::to",
    "aten::_to_copy",
    "aten::copy_",
    "aten::clone",
    "aten::contiguous",
    "aten::fill_",
    "aten::zero_",
    "aten::normal_",
    "aten::uniform_",
    "aten::random_",
    "aten::bernoulli_",
    "aten::exponential_",
};

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

std::int64_t count(std::string_view value) {
  return std::max<std::int64_t>(-1, trace::as_int(value).value_or(-1));
}

double amount(std::string_view value) {
  const auto number = trace::as_double(value);
  return number && *number >= 0 ? *number : -1;
}

// Fills what is not known yet: the work's own args come before those of its launch.
void read_work(std::string_view key, std::string_view value, WorkArgs& out) {
  const auto first = [](auto& field, auto found) {
    if (field < 0) field = found;
  };
  if (key == "grid" || key == "grid dim") {
    first(out.blocks, product(value));
  } else if (key == "block" || key == "block dim") {
    first(out.block_threads, product(value));
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
  } else if (key == "occupancy" && value.starts_with('{')) {
    if (auto text = trace::string_arg(value, "limitingFactors")) {
      out.limiting_factors = std::move(*text);
    }
  }
}

void read_collective(std::string_view key, std::string_view value,
                     CollectiveArgs& out) {
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

bool reads_inputs_of(std::string_view name) {
  return std::find(kOperators.begin(), kOperators.end(), name) != kOperators.end() ||
         name.find("attention") != std::string_view::npos;
}

std::int64_t element_bytes(std::string_view dtype) {
  for (const auto& type : kTypes) {
    if (type.name == dtype) return type.bytes;
  }
  return -1;
}

EventArgs::EventArgs(const Timeline& t) {
  const auto& c = t.columns();
  index_.assign(c.size(), 0);
  std::vector<std::uint32_t> rows, of;  // what is read, and whose it is
  for (const auto& d : t.devices) {
    for (const auto row : d.rows) {
      index_[row] = static_cast<std::uint32_t>(work_.size());
      work_.emplace_back();
      rows.push_back(row);
    }
  }
  // Each distinct name is looked at once.
  std::vector<char> wanted(t.trace->strings.size(), 0);
  for (std::uint32_t id = 0; id < wanted.size(); ++id) {
    const auto name = t.trace->strings.view(id);
    wanted[id] = reads_inputs_of(name) ? 1 : name == "record_param_comms" ? 2 : 0;
  }
  for (std::uint32_t row = 0; row < c.size(); ++row) {
    if (c.cat(row) == Category::kCpuOp && wanted[c.name[row]] && c.args_length[row]) {
      rows.push_back(row);
    }
  }
  t.trace->visit_args(rows, [&](std::size_t i, std::string_view text) {
    const auto row = rows[i];
    if (c.cat(row) == Category::kCpuOp && wanted[c.name[row]] == 1) {
      auto& op = ops_[row];
      trace::for_each_member(text, [&](auto k, auto v) { read_op(k, v, op); });
      return;
    }
    CollectiveArgs collective;
    trace::for_each_member(text, [&](std::string_view key, std::string_view value) {
      if (index_[row] != 0) read_work(key, value, work_[index_[row]]);
      read_collective(key, value, collective);
    });
    if (!collective.name.empty()) collectives_.emplace(row, std::move(collective));
  });
  // Of work that says nothing of its shape, its launch may.
  rows.clear();
  for (const auto& d : t.devices) {
    for (const auto row : d.rows) {
      const auto launch = t.launch_of(row);
      const auto& known = work(row);
      if (launch == kNoRow || known.blocks >= 0 || known.bytes >= 0) continue;
      rows.push_back(launch);
      of.push_back(row);
    }
  }
  t.trace->visit_args(rows, [&](std::size_t i, std::string_view text) {
    trace::for_each_member(text, [&](std::string_view key, std::string_view value) {
      // A graph launch has no grid of its own, and a call's stream is no work's.
      read_work(key, value, work_[index_[of[i]]]);
    });
  });
}

}  // namespace tta::timeline

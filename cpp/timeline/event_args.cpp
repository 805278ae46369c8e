// SPDX-License-Identifier: BSD-3-Clause
// timeline/event_args.cpp: which rows are read, all of them in one pass.
#include "timeline/event_args.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "timeline/arg_keys.h"
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

// CUDA's calls carry ids only; to read them would be to read the args of all launches.
bool says_nothing_of_work(std::string_view call) { return call.starts_with("cu"); }

// What a launch says is told to the work that says nothing of its shape itself.
void complete(WorkArgs& work, const WorkArgs& launch) {
  if (work.blocks >= 0 || work.bytes >= 0) return;
  const auto fill = [&](auto field) {
    if (work.*field < 0) work.*field = launch.*field;
  };
  fill(&WorkArgs::blocks);
  fill(&WorkArgs::block_threads);
  fill(&WorkArgs::grid_shape);
  fill(&WorkArgs::block_shape);
  fill(&WorkArgs::registers);
  fill(&WorkArgs::shared_memory);
  fill(&WorkArgs::occupancy);
  fill(&WorkArgs::blocks_per_sm);
  fill(&WorkArgs::warps_per_sm);
  fill(&WorkArgs::bytes);
  fill(&WorkArgs::bandwidth);
  fill(&WorkArgs::graph_id);
  if (!launch.limiting_factors.empty()) work.limiting_factors = launch.limiting_factors;
}

// The name in what Kineto makes of it: "thread 1182 (pt_autograd_0)". Before it knows a
// thread's own name it writes the program's; the last one counts.
std::string own_name(std::string_view text) {
  if (!text.starts_with("thread ") || !text.ends_with(")")) return std::string(text);
  const auto open = text.find(" (");
  if (open == std::string_view::npos) return std::string(text);
  return std::string(text.substr(open + 2, text.size() - open - 3));
}

}  // namespace

bool reads_inputs_of(std::string_view name) {
  return std::find(kOperators.begin(), kOperators.end(), name) != kOperators.end() ||
         name.find("attention") != std::string_view::npos;
}

EventArgs::EventArgs(const Timeline& t) {
  const auto& c = t.columns();
  index_.assign(c.size(), 0);
  // What is read, all of it in one pass: to inflate a file costs more than the rest.
  std::vector<char> read(c.size(), 0);
  // Of each launch of such work: its place in `said`, as index_ has that of work.
  std::vector<std::uint32_t> launches(c.size(), 0);
  std::vector<WorkArgs> said(1);
  for (const auto& d : t.devices) {
    for (const auto row : d.rows) {
      index_[row] = static_cast<std::uint32_t>(work_.size());
      work_.emplace_back();
      read[row] = 1;
      const auto launch = t.launch_of(row);
      if (launch == kNoRow || launches[launch] != 0 || c.args_length[launch] == 0 ||
          says_nothing_of_work(t.trace->name(launch))) {
        continue;
      }
      launches[launch] = static_cast<std::uint32_t>(said.size());
      said.emplace_back();
      read[launch] = 1;
    }
  }
  // Each distinct name is looked at once.
  std::vector<char> wanted(t.trace->strings.size(), 0);
  for (std::uint32_t id = 0; id < wanted.size(); ++id) {
    const auto name = t.trace->strings.view(id);
    wanted[id] = reads_inputs_of(name)          ? 1
                 : name == "record_param_comms" ? 2
                 : name == "thread_name"        ? 3
                                                : 0;
  }
  const auto names_thread = [&](std::uint32_t row) {
    return c.phase[row] == 'M' && wanted[c.name[row]] == 3;
  };
  std::vector<std::uint32_t> rows;  // in the order of the file, as they are read
  for (std::uint32_t row = 0; row < c.size(); ++row) {
    if (read[row] || ((c.cat(row) == Category::kCpuOp ? wanted[c.name[row]] != 0
                                                      : names_thread(row)) &&
                      c.args_length[row] > 0)) {
      rows.push_back(row);
    }
  }
  t.trace->visit_args(rows, [&](std::size_t i, std::string_view text) {
    const auto row = rows[i];
    if (names_thread(row)) {
      auto name = trace::string_arg(text, "name").value_or("");
      if (!name.empty()) threads_[{c.pid[row], c.tid[row]}] = own_name(name);
      return;
    }
    // A graph launch has no grid of its own, and a call's stream is no work's.
    const auto launch = launches[row];
    const bool op = c.cat(row) == Category::kCpuOp && wanted[c.name[row]] != 0;
    if (launch != 0) {
      trace::for_each_member(text, [&](std::string_view key, std::string_view value) {
        read_work(key, value, said[launch]);
      });
      if (!op) return;
    }
    if (op && wanted[c.name[row]] == 1) {
      op_rows_.push_back(row);  // rows come in their order
      auto& inputs = ops_.emplace_back();
      trace::for_each_member(text, [&](auto k, auto v) { read_op(k, v, inputs); });
      return;
    }
    CollectiveArgs collective;
    trace::for_each_member(text, [&](std::string_view key, std::string_view value) {
      if (index_[row] != 0) read_work(key, value, work_[index_[row]]);
      read_collective(key, value, collective);
    });
    if (!collective.name.empty()) collectives_.emplace(row, std::move(collective));
  });
  for (const auto& d : t.devices) {
    for (const auto row : d.rows) {
      const auto launch = t.launch_of(row);
      if (launch != kNoRow) complete(work_[index_[row]], said[launches[launch]]);
    }
  }
}

}  // namespace tta::timeline

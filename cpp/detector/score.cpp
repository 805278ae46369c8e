// SPDX-License-Identifier: BSD-3-Clause
// detector/score.cpp: scores of a trace, batch by batch.
#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <optional>

#include "detector/state.h"

namespace tta::detector {
namespace {

void copy_to(const torch::Tensor& from, std::vector<float>& to) {
  const auto t = from.to(at::kCPU).contiguous();
  to.assign(t.data_ptr<float>(), t.data_ptr<float>() + t.numel());
}

// The tokens that count most in each window of a batch; `group` says where it goes.
void name_events(const ReadWindows& read, const Batch& batch,
                 const std::vector<std::size_t>& group, std::size_t named,
                 Scores& out) {
  const auto most = std::min(named, batch.length);
  if (most == 0) return;
  const auto of_tokens =
      read.shares.narrow(1, 1, static_cast<std::int64_t>(batch.length));
  const auto [best, at_place] = of_tokens.topk(static_cast<std::int64_t>(most));
  const auto shares = best.to(at::kCPU).contiguous();
  const auto places = at_place.to(at::kCPU).contiguous();
  std::vector<std::int64_t> token_at(group.size() * batch.length, -1);
  for (std::size_t i = 0; i < batch.kept; ++i) {
    token_at[static_cast<std::size_t>(batch.slot[i])] = batch.token[i];
  }
  for (std::size_t i = 0; i < group.size() * most; ++i) {
    const auto place = static_cast<std::size_t>(places.data_ptr<std::int64_t>()[i]);
    const auto token = token_at[i / most * batch.length + place];
    if (token < 0) continue;  // padding
    const auto to = group[i / most] * named + i % most;
    out.events[to] = token;
    out.event_shares[to] = shares.data_ptr<float>()[i];
  }
}

}  // namespace

int usual_threads() { return at::get_num_threads(); }

OperationThreads::OperationThreads(int count) : before_(at::get_num_threads()) {
  if (count > 0) at::set_num_threads(count);
}
OperationThreads::~OperationThreads() { at::set_num_threads(before_); }

Precision::Precision(at::Device device, bool bfloat16)
    : type_(device.type()),
      before_(at::autocast::is_autocast_enabled(type_)),
      dtype_before_(at::autocast::get_autocast_dtype(type_)) {
  at::autocast::set_autocast_enabled(type_, bfloat16);
  if (bfloat16) at::autocast::set_autocast_dtype(type_, at::kBFloat16);
}
Precision::~Precision() {
  at::autocast::set_autocast_enabled(type_, before_);
  at::autocast::set_autocast_dtype(type_, dtype_before_);
}

torch::Tensor rows_of(std::vector<float>& values, std::size_t columns,
                      at::Device device) {
  const auto width = static_cast<std::int64_t>(columns);
  const auto rows = static_cast<std::int64_t>(values.size()) / width;
  return at::from_blob(values.data(), {rows, width}, at::kFloat).to(device);
}

Scores Detector::score(const Arrays& arrays, const ScoreOptions& options,
                       const Checkpoint& checkpoint) const {
  const c10::InferenceMode guard;
  const auto threads = options.threads > 0 ? options.threads : usual_threads();
  const OperationThreads alone(1);
  auto& network = *state_->network;
  const auto& matching = state_->matching;
  const auto device = state_->device;
  const auto count = arrays.count();
  const auto most = static_cast<std::size_t>(state_->config.max_tokens);
  const auto given = matching.given_columns;
  const auto columns = state_->tables.window_columns();
  std::vector<std::size_t> lengths(count);
  for (std::size_t i = 0; i < count; ++i) {
    lengths[i] = count_tokens(arrays, static_cast<std::int64_t>(i), most);
  }
  Scores out;
  const auto named = static_cast<std::size_t>(options.events);
  out.events.assign(count * named, -1);
  out.event_shares.assign(count * named, 0);
  const auto windows =
      at::empty({static_cast<std::int64_t>(count), state_->config.width},
                at::TensorOptions(device).dtype(at::kFloat));
  auto groups = group_by_length(lengths, {options.batch_tokens});
  const auto read = [&](std::size_t piece) {
    const c10::InferenceMode of_this_thread;
    // Torch limits a new thread's use of MKL's threads at its first parallel operation,
    // which small batches reach late: until then their products would be rounded as on
    // several threads, and scores would depend on which thread took which batch.
    at::internal::lazy_init_num_threads();
    const Precision precision(device, options.bfloat16);
    auto& group = groups[piece];
    std::vector<WindowRef> refs;
    std::vector<float> rows;
    for (const auto i : group) {
      refs.push_back({0, static_cast<std::int64_t>(i)});
      matching.add_windows(arrays.windows.subspan(i * given, given), rows);
    }
    const auto batch = make_batch({&arrays, 1}, refs, most, matching);
    const auto got = network.read({batch, device}, rows_of(rows, columns, device));
    const auto places = at::from_blob(
        group.data(), {static_cast<std::int64_t>(group.size())}, at::kLong);
    windows.index_copy_(0, places.to(device), got.windows.to(at::kFloat));
    name_events(got, batch, group, named, out);
  };
  // What was converted is kept until then, so that each weight is converted once.
  struct Converted {
    ~Converted() { at::autocast::clear_cache(); }
  };
  std::optional<Converted> converted;
  if (options.bfloat16) converted.emplace();
  for_each_piece(groups.size(), device.is_cpu() ? threads : 1, read, checkpoint);
  const Precision precision(device, false);
  const auto logits = network.judge(windows);
  copy_to(logits, out.logits);
  const auto told = logits.sigmoid();
  copy_to(told.narrow(1, 0, 2), out.any);
  const auto outputs = told.size(1);
  copy_to(told.narrow(1, 2, outputs - 3), out.types);
  copy_to(told.narrow(1, outputs - 1, 1), out.recoverable);
  return out;
}

}  // namespace tta::detector

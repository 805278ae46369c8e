// SPDX-License-Identifier: BSD-3-Clause
// detector/score.cpp: scores of a trace, batch by batch.
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>

#include "detector/columns.h"
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

// Reads groups on so many threads. That of the caller, which alone may hear of signals,
// asks.
void for_each(std::vector<std::vector<std::size_t>>& groups, int threads,
              const std::function<void(std::vector<std::size_t>&)>& read,
              const Checkpoint& checkpoint) {
  std::atomic<std::size_t> next = 0;
  std::mutex failing;
  std::exception_ptr failure;
  const auto work = [&](bool caller) {
    const c10::InferenceMode guard;  // each thread has its own
    try {
      for (auto i = next++; i < groups.size(); i = next++) {
        if (caller) checkpoint();
        read(groups[i]);
      }
    } catch (...) {
      next = groups.size();  // the others end too
      const std::scoped_lock lock(failing);
      if (!failure) failure = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  try {
    for (int i = 1; i < std::min<int>(threads, static_cast<int>(groups.size())); ++i) {
      others.emplace_back(work, false);
    }
  } catch (const std::system_error&) {
    // As many as there could be.
  }
  work(true);
  for (auto& other : others) other.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace

OperationThreads::OperationThreads(int count) : before_(at::get_num_threads()) {
  if (count > 0) at::set_num_threads(count);
}
OperationThreads::~OperationThreads() { at::set_num_threads(before_); }

torch::Tensor rows_of(std::vector<float>& values, at::Device device) {
  const auto columns = static_cast<std::int64_t>(features::window_columns().size());
  const auto rows = static_cast<std::int64_t>(values.size()) / columns;
  return at::from_blob(values.data(), {rows, columns}).to(device);
}

Scores Detector::score(const Arrays& arrays, const ScoreOptions& options,
                       const Checkpoint& checkpoint) const {
  const c10::InferenceMode guard;
  const auto threads = options.threads > 0 ? options.threads : at::get_num_threads();
  const OperationThreads alone(1);
  auto& network = *state_->network;
  const auto device = state_->device;
  const auto count = arrays.count();
  const auto most = static_cast<std::size_t>(state_->config.max_tokens);
  const auto columns = features::window_columns().size();
  std::vector<std::size_t> lengths(count);
  for (std::size_t i = 0; i < count; ++i) {
    lengths[i] = count_tokens(arrays, static_cast<std::int64_t>(i), most);
  }
  Scores out;
  const auto named = static_cast<std::size_t>(options.events);
  out.events.assign(count * named, -1);
  out.event_shares.assign(count * named, 0);
  const auto windows =
      at::empty({static_cast<std::int64_t>(count), state_->config.width}, device);
  auto groups = group_by_length(lengths, {options.batch_tokens});
  const auto read = [&](std::vector<std::size_t>& group) {
    std::vector<WindowRef> refs;
    std::vector<float> rows;
    for (const auto i : group) {
      refs.push_back({0, static_cast<std::int64_t>(i)});
      const auto row = arrays.windows.subspan(i * columns, columns);
      rows.insert(rows.end(), row.begin(), row.end());
    }
    const auto batch = make_batch({&arrays, 1}, refs, most);
    const auto got = network.read({batch, device}, rows_of(rows, device));
    const auto places = at::from_blob(
        group.data(), {static_cast<std::int64_t>(group.size())}, at::kLong);
    windows.index_copy_(0, places.to(device), got.windows);
    name_events(got, batch, group, named, out);
  };
  for_each(groups, device.is_cpu() ? threads : 1, read, checkpoint);
  const auto told = network.judge(windows).sigmoid();
  copy_to(told.narrow(1, 0, 2), out.any);
  copy_to(told.narrow(1, 2, Network::outputs() - 3), out.types);
  copy_to(told.narrow(1, Network::outputs() - 1, 1), out.recoverable);
  return out;
}

}  // namespace tta::detector

// SPDX-License-Identifier: BSD-3-Clause
// lab/insertion_draft.cpp: what each call of a draft comes to, checked before it is
// kept.
#include "lab/cpp/insertion_draft.h"

#include <stdexcept>
#include <utility>

#include "lab/cpp/perturbation_check.h"

namespace tta::lab {
namespace {

trace::Category category_named(std::string_view name, OpKind kind) {
  const auto out = trace::category_of(name);
  if (out == trace::Category::kUnknown) {
    throw std::invalid_argument("no category is named " + std::string(name));
  }
  check_category(out, kind);
  return out;
}

DeviceWork made_of(DraftedWork w, std::uint32_t place) {
  check_length(w.ns);
  check_args(w.args);
  if (w.bytes < -1)
    throw std::invalid_argument("work moves a negative number of bytes");
  if (!(w.blocks_per_sm >= 0 || w.blocks_per_sm == -1)) {
    throw std::invalid_argument("work has a negative number of blocks");
  }
  DeviceWork out{std::move(w.name), w.kind, place, w.ns};
  out.bytes = w.bytes;
  out.blocks_per_sm = w.blocks_per_sm;
  if (w.kind == TaskKind::kCopy) out.copy = replay::copy_kind(out.name, w.bytes);
  out.args = std::move(w.args);
  return out;
}

}  // namespace

InsertionDraft::InsertionDraft(std::shared_ptr<const Model> model, std::int64_t pid,
                               std::int64_t tid, std::int64_t at) {
  if (model == nullptr) throw std::invalid_argument("there is no model");
  check_moment(at);
  in_.lane = lane_of_thread(*model, pid, tid);
  in_.at = at;
  in_.model = std::move(model);
}

void InsertionDraft::open(std::string name, std::string_view category,
                          std::string args) {
  add({OpKind::kOpen, 0, std::move(name)}, category, std::move(args));
  ++open_;
}

void InsertionDraft::close() {
  if (open_ == 0) throw std::invalid_argument("nothing is open that could be closed");
  add({OpKind::kClose, 0, ""}, "cpu_op", "");
  --open_;
}

void InsertionDraft::host(std::int64_t ns, std::string name, std::string_view category,
                          std::string args) {
  add({OpKind::kHost, ns, std::move(name)}, category, std::move(args));
}

void InsertionDraft::call(DraftedCall call) {
  add(OpKind::kCall, std::move(call), kNone, kNone);
}

void InsertionDraft::launch(DraftedCall call, DraftedWork work, bool waits) {
  const auto in = place(work.device, work.stream);
  auto item = made_of(std::move(work), in);
  Operation op{OpKind::kCall, call.ns, std::move(call.name)};
  const auto number = static_cast<std::uint32_t>(in_.work.size());
  op.work = {number};
  if (waits) op.until.push_back({number});
  add(std::move(op), call.category, std::move(call.args));
  in_.work.push_back(std::move(item));
}

void InsertionDraft::sync(DraftedCall call, std::int32_t device, std::int64_t stream,
                          bool whole_device) {
  add(whole_device ? OpKind::kDeviceSync : OpKind::kStreamSync, std::move(call), kNone,
      place(device, stream));
}

void InsertionDraft::event_sync(DraftedCall record, DraftedCall wait,
                                std::int32_t device, std::int64_t stream) {
  const auto in = place(device, stream);
  check_length(wait.ns);
  check_args(wait.args);
  category_named(wait.category, OpKind::kEventSync);
  add(OpKind::kEventRecord, std::move(record), in_.events, in);
  add(OpKind::kEventSync, std::move(wait), in_.events, kNone);
  ++in_.events;
}

void InsertionDraft::stand_for(std::uint32_t row) {
  check_device_work(*in_.model, row);
  in_.stands_for = row;
}

const Insertion& InsertionDraft::made() const {
  if (open_ > 0) {
    throw std::invalid_argument(std::to_string(open_) + " that were opened are open");
  }
  return in_;
}

void InsertionDraft::add(OpKind kind, DraftedCall call, std::uint32_t id,
                         std::uint32_t stream) {
  add({kind, call.ns, std::move(call.name), id, stream}, call.category,
      std::move(call.args));
}

void InsertionDraft::add(Operation op, std::string_view category, std::string args) {
  check_length(op.ns);
  check_args(args);
  const auto of = category_named(category, op.kind);
  op.args = std::move(args);
  in_.operations.push_back(std::move(op));
  in_.categories.push_back(of);
}

std::uint32_t InsertionDraft::place(std::int32_t device, std::int64_t stream) const {
  return place_of_stream(*in_.model, device, stream);
}

}  // namespace tta::lab

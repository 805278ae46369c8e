// SPDX-License-Identifier: BSD-3-Clause
// lab/perturbed.h: a small trace, what may be put into it, and what comes of that.
#pragma once

#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "lab/cpp/write_perturbed.h"
#include "replay/change.h"
#include "replay/samples.h"
#include "support/trace_text.h"

namespace tta::lab {

using replay::Change;
using replay::CopyKind;
using replay::kByConstant;
using test::by_constants;
using test::Replayed;
using test::TraceText;
using trace::Category;

inline TraceText& launch(TraceText& t, double at, int id) {
  return t.call("cudaLaunchKernel", at, 5, id);
}

// Two kernels, the second launched while the first runs; operators around the calls.
inline TraceText busy() {
  TraceText t;
  t.note("train", 0, 60).op("aten::mm", 0, 10).op("aten::add", 18, 12);
  launch(t, 1, 1).kernel(10, 100, 1, "a");
  launch(t, 20, 2).kernel(112, 50, 2, "b");
  return t;
}

inline Insertion at_us(const Replayed& r, double us) {
  Insertion in;
  in.model = {std::shared_ptr<const void>(), &r.model};
  in.lane = r.lane_of("cudaLaunchKernel");
  in.at = r.model.begin + static_cast<std::int64_t>(us * 1e3);
  return in;
}

inline void add(Insertion& in, Operation op,
                Category category = Category::kCudaRuntime) {
  in.operations.push_back(std::move(op));
  in.categories.push_back(category);
}

inline Insertion sync_at(const Replayed& r, double us) {
  auto in = at_us(r, us);
  add(in, {OpKind::kStreamSync, 5'000, "cudaStreamSynchronize", kNone, 0});
  return in;
}

inline Insertion pause_at(const Replayed& r, double us, std::int64_t ns) {
  auto in = at_us(r, us);
  add(in, {OpKind::kHost, ns, "pause"}, Category::kCpuOp);
  return in;
}

// What .item() does.
inline Insertion read_at(const Replayed& r, double us) {
  auto in = at_us(r, us);
  DeviceWork w{"Memcpy DtoH (Device -> Pageable)", TaskKind::kCopy, 0, 2'000};
  w.bytes = 4;
  w.copy = CopyKind::kDownPageable;
  in.work.push_back(w);
  add(in, {OpKind::kOpen, 0, "aten::item"}, Category::kCpuOp);
  add(in, {OpKind::kOpen, 0, "aten::_local_scalar_dense"}, Category::kCpuOp);
  Operation copy{OpKind::kCall, 5'000, "cudaMemcpyAsync"};
  copy.work = {0};
  copy.until = {{0}};
  add(in, copy);
  add(in, {OpKind::kClose, 0, ""});
  add(in, {OpKind::kClose, 0, ""});
  return in;
}

inline Perturbed schedule(const Replayed& r, const Perturbation& p,
                          const Change& change = {}) {
  return schedule_perturbed(r.model, r.args, p, change.weights(r.model));
}

inline std::string text_of(const Replayed& r, const Perturbation& p,
                           const Perturbed& s) {
  std::ostringstream out;
  const std::vector<std::string> metadata{"deviceProperties"};
  write_perturbed(r.model, p, s, "", metadata, out);
  return std::move(out).str();
}

inline std::string refusal(const Replayed& r, const Perturbation& p) {
  try {
    schedule(r, p);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

}  // namespace tta::lab

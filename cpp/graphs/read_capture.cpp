// SPDX-License-Identifier: BSD-3-Clause
// graphs/read_capture.cpp: launches with what is around each, every text once.
#include "graphs/read_capture.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "timeline/arg_keys.h"
#include "timeline/frames.h"
#include "trace/args.h"

namespace tta::graphs {
namespace {

using timeline::Capture;
using timeline::CapturedLaunch;
using timeline::kNoRow;
using timeline::Name;
using trace::Category;

class Reader {
 public:
  Reader(const timeline::Timeline& t, const timeline::EventArgs& args)
      : t_(t), c_(t.columns()), args_(args) {}

  Capture read() {
    read_warm_up();
    const auto first = calls_.size();
    for (const auto& capture : timeline::stream_captures(t_)) {
      for (const auto call : capture) add(call, kNoRow);
      end_run();
    }
    read_names(first);
    read_frames();
    return std::move(out_);
  }

 private:
  void read_warm_up() {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> work;  // Launch and row.
    t_.each_launched([&](auto row, auto launch) {
      if (!t_.named(launch, Name::kGraphLaunch)) work.emplace_back(launch, row);
    });
    std::ranges::stable_sort(work, {}, [&](const auto& w) {
      return std::tuple(c_.ts[w.first], w.first, c_.ts[w.second]);
    });
    for (const auto& [launch, row] : work) add(launch, row);
    end_run();
  }

  void end_run() {
    out_.run_ends.push_back(static_cast<std::uint32_t>(out_.launches.size()));
  }

  // `work` is kNoRow of a call that was captured.
  void add(std::uint32_t call, std::uint32_t work) {
    CapturedLaunch launch;
    const auto named = work == kNoRow ? call : work;
    const bool copies = work == kNoRow ? t_.named(call, Name::kMemcpy)
                                       : c_.cat(work) == Category::kGpuMemcpy;
    const bool sets = work == kNoRow ? !copies && t_.named(call, Name::kCopyOrFill)
                                     : c_.cat(work) == Category::kGpuMemset;
    launch.kind = copies ? CapturedLaunch::Kind::kCopy
                  : sets ? CapturedLaunch::Kind::kSet
                         : CapturedLaunch::Kind::kKernel;
    if (work != kNoRow) {
      launch.name = text(t_.trace->name(named));
      launch.grid = args_.work(work).grid_shape;
      launch.block = args_.work(work).block_shape;
    }
    launch.op = op_of(t_.tree.enclosing(c_, call, Category::kCpuOp));
    const auto note = t_.tree.innermost(call, [&](auto at) {
      return c_.cat(at) == Category::kUserAnnotation &&
             !t_.trace->name(at).starts_with("ProfilerStep#");
    });
    if (note != kNoRow) launch.annotation = text(t_.trace->name(note));
    out_.launches.push_back(launch);
    calls_.push_back(call);
  }

  // An operator and those around it, each once.
  std::uint32_t op_of(std::uint32_t row) {
    std::vector<std::uint32_t> path;
    while (row != kNoRow && !ops_.contains(row)) {
      path.push_back(row);
      const auto parent = t_.tree.parent[row];
      row = parent == kNoRow ? kNoRow : t_.tree.enclosing(c_, parent, Category::kCpuOp);
    }
    auto op = row == kNoRow ? kNoRow : ops_.at(row);
    for (; !path.empty(); path.pop_back()) {
      const auto at = path.back();
      const timeline::CapturedOp made{text(t_.trace->name(at)), inputs(at), op};
      op = static_cast<std::uint32_t>(out_.ops.size());
      ops_.emplace(at, op);
      out_.ops.push_back(made);
    }
    return op;
  }

  std::uint32_t inputs(std::uint32_t row) {
    const auto* known = args_.op(row);
    if (known == nullptr) return kNoRow;
    const auto next = static_cast<std::uint32_t>(out_.inputs.size());
    const auto [it, fresh] = inputs_.try_emplace(known, next);
    if (fresh) out_.inputs.push_back(*known);
    return it->second;
  }

  std::uint32_t text(std::string_view words) {
    const auto next = static_cast<std::uint32_t>(out_.texts.size());
    const auto [it, fresh] = texts_.try_emplace(std::string(words), next);
    if (fresh) out_.texts.emplace_back(words);
    return it->second;
  }

  // HIP's calls say what they launch; CUDA's do not.
  void read_names(std::size_t first) {
    std::vector<std::uint32_t> rows, places;
    for (auto i = first; i < calls_.size(); ++i) {
      if (!t_.named(calls_[i], Name::kHipCall)) continue;
      rows.push_back(calls_[i]);
      places.push_back(static_cast<std::uint32_t>(i));
    }
    const auto args =
        rows.empty() ? std::vector<std::string>() : t_.trace->read_args(rows);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto name = trace::string_arg(args[i], "kernel").value_or("");
      if (name.empty()) continue;
      auto& launch = out_.launches[places[i]];
      launch.name = text(name);
      timeline::WorkArgs work;
      trace::for_each_member(args[i], [&](auto key, auto value) {
        timeline::read_work(key, value, work);
      });
      launch.grid = work.grid_shape;
      launch.block = work.block_shape;
    }
  }

  void read_frames() {
    auto found = timeline::shared_user_frames(t_, calls_);
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      if (found.of[i] == kNoRow) continue;
      out_.launches[i].frame = found.of[i];
      out_.launches[i].calls = found.calls_of[i];
    }
    out_.frames = std::move(found.frames);
    out_.calls = std::move(found.calls);
  }

  const timeline::Timeline& t_;
  const trace::Columns& c_;
  const timeline::EventArgs& args_;
  Capture out_;
  std::vector<std::uint32_t> calls_;  // Of each launch, its row.
  std::unordered_map<std::uint32_t, std::uint32_t> ops_;
  std::unordered_map<const timeline::OpArgs*, std::uint32_t> inputs_;
  std::unordered_map<std::string, std::uint32_t> texts_;
};

}  // namespace

Capture read_capture(const timeline::Timeline& t, const timeline::EventArgs& args) {
  return Reader(t, args).read();
}

}  // namespace tta::graphs

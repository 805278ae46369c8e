// SPDX-License-Identifier: BSD-3-Clause
// timeline/frames.cpp: climbs from an event to the user's code.
#include "timeline/frames.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "timeline/cursor.h"
#include "timeline/gradients.h"
#include "trace/args.h"

namespace tta::timeline {
namespace {

using trace::Category;

// "<built-in method item of Tensor object at 0x7f>": of each object another name.
std::string call_text(std::string_view name) {
  if (!name.starts_with("<built-in method ")) return std::string(name);
  const auto of = name.find(" of ");
  if (of == std::string_view::npos) return std::string(name);
  return std::string(name.substr(0, of)) + ">";
}

// What frames were calling, each path of names once.
class CallNames {
 public:
  explicit CallNames(const trace::StringPool& strings) : strings_(strings) {}

  // The place in take() of a path of names, innermost first.
  std::uint32_t add(std::vector<std::uint32_t> path) {
    std::reverse(path.begin(), path.end());
    path.resize(std::min(path.size(), kMaxCalls));
    const auto [known, fresh] = by_path_.try_emplace(std::move(path), 0);
    if (!fresh) return known->second;
    Calls names;
    for (const auto id : known->first) names.push_back(call_text(strings_.view(id)));
    const auto next = static_cast<std::uint32_t>(calls_.size());
    known->second = by_names_.try_emplace(names, next).first->second;
    if (known->second == next) calls_.push_back(std::move(names));
    return known->second;
  }

  std::vector<Calls> take() { return std::move(calls_); }

 private:
  const trace::StringPool& strings_;
  std::vector<Calls> calls_;
  std::map<std::vector<std::uint32_t>, std::uint32_t> by_path_;  // into calls_
  std::map<Calls, std::uint32_t> by_names_;                      // the same
};

class Resolver {
 public:
  explicit Resolver(const Timeline& t)
      : t_(t),
        c_(t.columns()),
        by_name_(t.trace->strings.size(), kUnseen),
        above_(c_.size(), kUnseen),
        names_(t.trace->strings) {
    for (const auto& lane : t.lanes.threads()) {
      std::uint32_t frames = 0;
      for (const auto row : t.lanes.rows_of(lane)) {
        frames += c_.cat(row) == Category::kPythonFunction;
      }
      auto& busiest = python_threads_[lane.pid];
      if (frames > busiest.second) busiest = {&lane, frames};
      has_frames_ |= frames > 0;
      if (frames > 0) add_running(lane);
    }
  }

  SharedFrames run(std::span<const std::uint32_t> rows) {
    std::vector<std::uint32_t> starts(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      starts[i] = t_.lanes.on_stream(rows[i]) ? t_.launch_of(rows[i]) : rows[i];
    }
    if (!has_frames_ && may_have_call_stacks()) read_call_stacks(starts);
    SharedFrames out;
    for (const auto start : starts) {
      auto from = start;
      out.of.push_back(start == kNoRow ? kNoFrame : find(start, from));
      out.calls_of.push_back(calls_below(out.of.back(), from));
    }
    out.frames = std::move(frames_);
    out.calls = names_.take();
    return out;
  }

 private:
  // Of frames by their place in frames_.
  static constexpr std::uint32_t kNoFrame = kNoRow, kUnseen = kNoRow - 1;
  static constexpr std::size_t kHead = 1024;  // operators to look at for a Call stack

  // The frame of the better owner, the first if they are alike.
  std::uint32_t better(std::uint32_t a, std::uint32_t b) const {
    if (a == kNoFrame || b == kNoFrame) return a == kNoFrame ? b : a;
    return owners_[b] > owners_[a] ? b : a;
  }

  bool is_user(std::uint32_t frame) const {
    return frame != kNoFrame && frames_[frame].user;
  }

  std::uint32_t add(std::optional<Frame> frame) {
    if (!frame) return kNoFrame;
    owners_.push_back(owner_of_file(frame->file));
    frames_.push_back(*std::move(frame));
    return static_cast<std::uint32_t>(frames_.size() - 1);
  }

  // `from` becomes the row above which the frame was found.
  std::uint32_t find(std::uint32_t row, std::uint32_t& from) {
    auto best = above(row);
    const auto look = [&](std::uint32_t other) {
      if (other == kNoRow || is_user(best)) return;
      const auto found = better(best, above(other));
      if (found != best) from = other;
      best = found;
    };
    look(is_user(best) ? kNoRow : forward_of(row));
    look(is_user(best) || !has_frames_ ? kNoRow : elsewhere(row));
    return best;
  }

  // The frames in which a thread was when recording began: each the first of its
  // caller, down to the profiler's own that began it. Where a thread began later this
  // takes its first frames for running ones, and loses where these functions begin.
  void add_running(const Lane& lane) {
    auto last = kNoRow;
    for (const auto row : t_.lanes.rows_of(lane)) {
      if (c_.cat(row) != Category::kPythonFunction) continue;
      if (last != kNoRow && t_.tree.parent[row] != last) return;
      running_.insert(c_.name[row]);
      last = row;
    }
  }

  // What the frame was calling on the way to a row. An annotation calls nothing.
  std::uint32_t calls_below(std::uint32_t frame, std::uint32_t row) {
    path_.clear();
    bool reached = false;
    for (const auto at : t_.tree.around(row)) {
      const auto cat = c_.cat(at);
      if (own(at) == frame) {
        reached = cat == Category::kPythonFunction;
        break;
      }
      // What an operator calls is none of the frame's calls.
      if (cat != Category::kPythonFunction && cat != Category::kUserAnnotation)
        path_.clear();
      if (cat != Category::kUserAnnotation) path_.push_back(c_.name[at]);
    }
    if (!reached) path_.clear();
    return names_.add(path_);
  }

  // The best frame among the row and its ancestors: the deepest of the best owner.
  // Rows share their ancestors, so that each is looked at once.
  std::uint32_t above(std::uint32_t row) {
    path_.clear();
    while (row != kNoRow && above_[row] == kUnseen) {
      path_.push_back(row);
      row = t_.tree.parent[row];
    }
    auto best = row == kNoRow ? kNoFrame : above_[row];
    for (; !path_.empty(); path_.pop_back()) {
      best = above_[path_.back()] = better(own(path_.back()), best);
    }
    return best;
  }

  // What a row itself tells. Each name is parsed once, not with each row in the call.
  std::uint32_t own(std::uint32_t row) {
    if (c_.cat(row) != Category::kPythonFunction) {
      const auto stack = stacks_.find(row);
      return stack == stacks_.end() ? kNoFrame : stack->second;
    }
    auto& known = by_name_[c_.name[row]];
    if (known == kUnseen) {
      auto frame = parse_frame(t_.trace->name(row));
      if (frame && running_.contains(c_.name[row])) frame->line_of = LineOf::kStart;
      // Dynamo makes a function of what follows a break, from the line of the break on.
      if (frame && frame->function.starts_with("torch_dynamo_resume_in_")) {
        frame->line_of = LineOf::kCall;
      }
      known = add(std::move(frame));
    }
    return known;
  }

  // Listed only if a frame is looked for there.
  std::uint32_t forward_of(std::uint32_t row) {
    if (!gradients_) gradients_.emplace(t_);
    return gradients_->forward_of(row);
  }

  // What the busiest Python thread of the row's process was in at the time: the call
  // of backward(), for what autograd's own threads do.
  std::uint32_t elsewhere(std::uint32_t row) {
    const auto thread = python_threads_.find(c_.pid[row]);
    if (thread == python_threads_.end() || thread->second.first == nullptr) {
      return kNoRow;
    }
    return Cursor(t_, thread->second.first->id).innermost(c_.ts[row]);
  }

  // torch 1.8-2.0 wrote the stack into the args of operators, innermost frame first. A
  // file has them on most operators or on none: those at its head tell, and spare a
  // pass over the rest.
  bool may_have_call_stacks() const {
    std::vector<std::uint32_t> head;
    for (std::uint32_t row = 0; row < c_.size() && head.size() < kHead; ++row) {
      if (c_.cat(row) == Category::kCpuOp && c_.args_length[row] > 0)
        head.push_back(row);
    }
    const auto texts = t_.trace->read_args(head);
    return std::any_of(texts.begin(), texts.end(), [](const auto& text) {
      return !trace::raw_arg(text, "Call stack").empty();
    });
  }

  void read_call_stacks(const std::vector<std::uint32_t>& rows) {
    std::vector<char> visited(c_.size(), 0);
    std::vector<std::uint32_t> ops;
    const auto climb = [&](std::uint32_t row) {
      // Above a row that was visited all have been.
      for (; row != kNoRow && !visited[row]; row = t_.tree.parent[row]) {
        visited[row] = 1;
        if (c_.args_length[row] > 0 && !c_.cat_info(row).runtime_api)
          ops.push_back(row);
      }
    };
    for (const auto row : rows) {
      climb(row);
      if (row != kNoRow) climb(forward_of(row));
    }
    std::sort(ops.begin(), ops.end());
    const auto texts = t_.trace->read_args(ops);
    for (std::size_t i = 0; i < ops.size(); ++i) {
      const auto stack = trace::string_arg(texts[i], "Call stack");
      if (!stack) continue;
      auto best = kNoFrame;
      for (std::size_t at = 0; at < stack->size();) {
        const auto end = std::min(stack->find(';', at), stack->size());
        auto frame = parse_frame(std::string_view(*stack).substr(at, end - at));
        if (frame) frame->line_of = LineOf::kCall;
        best = better(best, add(std::move(frame)));
        at = end + 1;
      }
      if (best != kNoFrame) stacks_.emplace(ops[i], best);
    }
  }

  const Timeline& t_;
  const trace::Columns& c_;
  std::vector<Frame> frames_;
  std::vector<FileOwner> owners_;              // of each of them
  std::vector<std::uint32_t> by_name_;         // kUnseen until asked
  std::vector<std::uint32_t> above_;           // of each row, the same
  std::vector<std::uint32_t> path_;            // rows on the way up, or their names
  std::unordered_set<std::uint32_t> running_;  // names of frames when recording began
  CallNames names_;
  std::map<std::int64_t, std::pair<const Lane*, std::uint32_t>> python_threads_;
  std::unordered_map<std::uint32_t, std::uint32_t> stacks_;  // of operators
  std::optional<Gradients> gradients_;
  bool has_frames_ = false;
};

}  // namespace

SharedFrames shared_user_frames(const Timeline& t,
                                std::span<const std::uint32_t> rows) {
  return Resolver(t).run(rows);
}

std::vector<std::optional<Frame>> user_frames(const Timeline& t,
                                              std::span<const std::uint32_t> rows) {
  const auto found = shared_user_frames(t, rows);
  std::vector<std::optional<Frame>> out(rows.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (found.of[i] != kNoRow) out[i] = found.frames[found.of[i]];
  }
  return out;
}

}  // namespace tta::timeline

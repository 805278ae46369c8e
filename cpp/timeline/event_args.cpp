// SPDX-License-Identifier: BSD-3-Clause
// timeline/event_args.cpp: which rows are read, and what they say.
#include "timeline/event_args.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "timeline/arg_keys.h"
#include "timeline/captured.h"
#include "timeline/occupancy.h"
#include "trace/args.h"

namespace tta::timeline {
namespace {

using trace::Category;

// Copies the shape from a launch to work without its own.
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

// HIP's extended launches pass a grid in threads, other calls in blocks
// (hip_ext.h: globalWorkSizeX against gridDimX).
void count_blocks(WorkArgs& work) {
  if (work.blocks > 0 && work.block_threads > 0 &&
      work.blocks % work.block_threads == 0) {
    work.blocks /= work.block_threads;
  }
}

// The name in what Kineto makes of it: "thread 1182 (pt_autograd_0)". Before it knows a
// thread's own name it writes the program's; the last one counts.
std::string own_name(std::string_view text) {
  if (!text.starts_with("thread ") || !text.ends_with(")")) return std::string(text);
  const auto open = text.find(" (");
  if (open == std::string_view::npos) return std::string(text);
  return std::string(text.substr(open + 2, text.size() - open - 3));
}

// What rows say, as text: kept by the load, or read again.
class Texts {
 public:
  /// `choose` marks the rows to read, in case it has to be.
  template <typename Choose>
  Texts(const Timeline& t, Choose&& choose)
      : kept_(t.trace->kept_args), number_(t.columns().size(), 0) {
    if (!kept_.complete()) read_again(t, choose);
    const auto& from = again_ ? *again_ : kept_;
    for (std::size_t i = 0; i < from.rows().size(); ++i) {
      number_[from.rows()[i]] = from.texts()[i];
    }
  }

  /// The number of a row's text, 0 if it has no text.
  std::uint32_t of(std::uint32_t row) const { return number_[row]; }
  std::size_t size() const { return (again_ ? *again_ : kept_).size(); }
  std::string_view text(std::uint32_t number) const {
    return (again_ ? *again_ : kept_).text(number);
  }

 private:
  template <typename Choose>
  void read_again(const Timeline& t, Choose&& choose) {
    std::vector<char> read(number_.size(), 0);
    choose(read);
    std::vector<std::uint32_t> rows;
    for (std::uint32_t row = 0; row < read.size(); ++row) {
      if (read[row]) rows.push_back(row);
    }
    again_.emplace();
    t.trace->visit_args(rows, [&](std::size_t i, std::string_view text) {
      const auto members = trace::kept_members(text);
      if (!members.empty()) {
        again_->add(rows[i], members, trace::KeptArgs::kNoLimit);
      }
    });
  }

  const trace::KeptArgs& kept_;
  std::optional<trace::KeptArgs> again_;
  std::vector<std::uint32_t> number_;  // of each row
};

// What texts say, each read when it is first asked for.
template <typename Args>
class Once {
 public:
  using Read = void (*)(std::string_view key, std::string_view value, Args& out);

  /// Appends the parsed args to `out`; an entry already there is the one for no text.
  Once(const Texts& texts, Read read, std::vector<Args>& out)
      : texts_(texts), read_(read), out_(out), place_(texts.size(), kNoRow) {
    if (!out.empty()) place_[0] = 0;
  }

  /// Returns the place in `out` of what a text says.
  std::uint32_t operator()(std::uint32_t text) {
    auto& place = place_[text];
    if (place != kNoRow) return place;
    place = static_cast<std::uint32_t>(out_.size());
    auto& args = out_.emplace_back();
    trace::for_each_member(
        texts_.text(text),
        [&](std::string_view key, std::string_view value) { read_(key, value, args); });
    return place;
  }

 private:
  const Texts& texts_;
  Read read_;
  std::vector<Args>& out_;
  std::vector<std::uint32_t> place_;  // of each text
};

}  // namespace

EventArgs::EventArgs(const Timeline& t) {
  const auto& c = t.columns();
  const auto& strings = t.trace->strings;
  const auto is_op = [&](std::uint32_t row) {
    return c.cat(row) == Category::kCpuOp && c.args_length[row] > 0;
  };
  // Operators around a launch: their inputs show how much work it is.
  std::vector<char> launches(c.size(), 0);
  t.each_launched([&](auto, auto launch) { t.tree.mark_around(launch, launches); });
  for (const auto& capture : stream_captures(t)) {
    for (const auto call : capture) t.tree.mark_around(call, launches);
  }
  const auto has_inputs = [&](std::uint32_t row) {
    return is_op(row) && (launches[row] || t.named(row, Name::kReadsInputs));
  };
  const auto is_collective = [&, id = strings.find("record_param_comms")](auto row) {
    return is_op(row) && c.name[row] == id;
  };
  const auto names_thread = [&, id = strings.find("thread_name")](auto row) {
    return c.phase[row] == 'M' && c.name[row] == id;
  };
  // The launch of a row of device work, if it may say something of it. CUDA's calls
  // carry ids only; to read them would be to read the args of all launches.
  const auto launch_of = [&](std::uint32_t row) {
    const auto launch = t.launch_of(row);
    return launch == kNoRow || t.named(launch, Name::kCudaCall) ? kNoRow : launch;
  };
  const Texts texts(t, [&](std::vector<char>& read) {
    for (const auto& d : t.devices) {
      for (const auto row : d.rows) {
        read[row] = 1;
        if (launch_of(row) != kNoRow) read[launch_of(row)] = 1;
      }
    }
    for (std::uint32_t row = 0; row < c.size(); ++row) {
      if (has_inputs(row) || is_collective(row) || names_thread(row)) {
        read[row] = 1;
      }
    }
  });

  Once<CollectiveArgs> collectives(texts, read_collective, collectives_);
  const auto add_collective = [&](std::uint32_t row) {
    const auto found = collectives(texts.of(row));
    if (!collectives_[found].name.empty()) collective_of_.emplace(row, found);
  };
  Once<OpArgs> ops(texts, read_op, ops_);
  op_of_.assign(c.size(), kNoRow);
  for (std::uint32_t row = 0; row < c.size(); ++row) {
    if (has_inputs(row)) op_of_[row] = ops(texts.of(row));
    if (is_collective(row)) add_collective(row);
    if (names_thread(row) && texts.of(row) != 0) {
      const auto text = texts.text(texts.of(row));
      const auto name = trace::string_arg(text, kThreadName).value_or("");
      if (!name.empty()) threads_[{c.pid[row], c.tid[row]}] = own_name(name);
    }
  }

  work_of_.assign(c.size(), 0);
  Once<WorkArgs> works(texts, read_work, work_);
  using Places = std::unordered_map<std::uint64_t, std::uint32_t>;
  Places completed;  // by both places
  // The place of a copy of `own`, completed once for each `by`.
  const auto copied = [&](Places& places, std::uint32_t own, std::uint32_t by,
                          auto complete) {
    const auto next = static_cast<std::uint32_t>(work_.size());
    const auto [it, fresh] = places.try_emplace(std::uint64_t{own} << 32 | by, next);
    if (fresh) {
      auto work = work_[own];
      complete(work);
      work_.push_back(std::move(work));
    }
    return it->second;
  };
  const auto extended = strings.find("hipExtModuleLaunchKernel");
  Places counted;
  for (const auto& d : t.devices) {
    const auto* const device = t.properties_of(d.device);
    Places estimated;
    for (const auto row : d.rows) {
      auto& place = work_of_[row] = works(texts.of(row));
      if (texts.of(row) != 0) add_collective(row);
      const auto launch = launch_of(row);
      if (launch != kNoRow && texts.of(launch) != 0) {
        // A graph launch has no grid of its own, and a call's stream is not that of
        // work.
        const auto said = works(texts.of(launch));
        place = copied(completed, place, said,
                       [&](WorkArgs& work) { complete(work, work_[said]); });
      }
      if (launch != kNoRow && c.name[launch] == extended) {
        place = copied(counted, place, 0, count_blocks);
      }
      if (device != nullptr && work_[place].blocks > 0 && work_[place].occupancy < 0) {
        place = copied(estimated, place, 0,
                       [&](WorkArgs& work) { complete_occupancy(*device, work); });
      }
    }
  }
}

}  // namespace tta::timeline

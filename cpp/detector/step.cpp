// SPDX-License-Identifier: BSD-3-Clause
// detector/step.cpp: windows to batches, logits to losses.
#include "detector/step.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/huber_loss.h>
#include <ATen/ops/log_sigmoid.h>
#include <ATen/ops/logaddexp.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/softplus.h>
#include <ATen/ops/stack.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <limits>
#include <map>

#include "detector/columns.h"
#include "detector/state.h"

namespace tta::detector {

namespace {

constexpr double kSmallError = 0.1;

}  // namespace

at::Tensor labels_loss(const at::Tensor& logits, const at::Tensor& labels) {
  const auto known = labels >= 0;
  if (!known.any().item<bool>()) return {};
  return at::binary_cross_entropy_with_logits(
      logits.masked_select(known), labels.masked_select(known).to(logits.dtype()));
}

at::Tensor share_loss(const at::Tensor& logits, const at::Tensor& truth) {
  const auto known = truth.isnan().logical_not();
  if (!known.any().item<bool>()) return {};
  return at::huber_loss(logits.masked_select(known).sigmoid(),
                        truth.masked_select(known), at::Reduction::Mean, kSmallError) /
         kSmallError;
}

at::Tensor trace_logit(const at::Tensor& any, double top_share) {
  const auto of_windows = any.logsumexp(1);
  const auto windows = of_windows.size(0);
  const auto wanted = std::ceil(top_share * static_cast<double>(windows));
  const auto count =
      std::clamp<std::int64_t>(static_cast<std::int64_t>(wanted), 1, windows);
  return std::get<0>(of_windows.topk(count)).mean();
}

at::Tensor bags_loss(const at::Tensor& traces, const at::Tensor& bad,
                     const at::Tensor& good_is_bad) {
  const auto seen = at::log_sigmoid(traces), clean = at::log_sigmoid(-traces);
  const auto told_good = at::logaddexp(clean, seen + at::log_sigmoid(good_is_bad));
  const auto told_bad = seen + at::log_sigmoid(-good_is_bad);
  return -(bad * told_bad + (1 - bad) * told_good).mean();
}

at::Tensor pairs_loss(const at::Tensor& slow, const at::Tensor& fixed) {
  return at::softplus(fixed - slow).mean();
}

at::Tensor hidden_loss(const at::Tensor& guess, const at::Tensor& kind,
                       const at::Tensor& times) {
  if (guess.size(0) == 0) return {};
  const auto kinds = guess.size(1) - 2;
  return at::cross_entropy_loss(guess.narrow(1, 0, kinds), kind) +
         at::huber_loss(guess.narrow(1, kinds, 2), times);
}

namespace {

std::size_t windows_of(const Example& e) {
  return static_cast<std::size_t>(e.last - e.first);
}

// The examples' windows in a row.
struct Together {
  std::vector<Arrays> traces;  ///< One for each example.
  std::vector<WindowRef> windows;
  std::vector<std::size_t> lengths;

  Together(std::span<const Example> examples, std::size_t most) {
    for (const auto& e : examples) {
      const auto trace = static_cast<std::uint32_t>(traces.size());
      traces.push_back(*e.arrays);
      for (auto w = e.first; w < e.last; ++w) {
        windows.push_back({trace, w});
        lengths.push_back(count_tokens(*e.arrays, w, most));
      }
    }
  }
};

// Labels of all windows in a row; -1 or NaN where an example is not labeled. `places`,
// if given, lists the column of an example for each output column, -1 for none.
template <typename T>
torch::Tensor labels_of(std::span<const Example> examples,
                        std::span<const T> Example::* labels, std::size_t columns,
                        T unknown, at::Device device,
                        std::span<const std::int32_t> places = {}) {
  std::vector<float> all;
  for (const auto& e : examples) {
    const auto& given = e.*labels;
    if (given.empty()) {
      all.insert(all.end(), windows_of(e) * columns, static_cast<float>(unknown));
      continue;
    }
    if (places.empty()) {
      all.insert(all.end(), given.begin(), given.end());
      continue;
    }
    const auto width = given.size() / windows_of(e);
    for (std::size_t row = 0; row < given.size(); row += width) {
      for (const auto at : places) {
        all.push_back(at < 0 ? unknown : given[row + static_cast<std::size_t>(at)]);
      }
    }
  }
  const auto n = static_cast<std::int64_t>(columns);
  return at::from_blob(all.data(), {static_cast<std::int64_t>(all.size()) / n, n},
                       at::kFloat)
      .clone()
      .to(device);
}

class Losses {
 public:
  void add(double weight, torch::Tensor loss, double& part) {
    part = std::numeric_limits<double>::quiet_NaN();
    if (weight == 0 || !loss.defined()) return;
    part = loss.item<double>();
    sum_ = sum_.defined() ? sum_ + weight * loss : weight * loss;
  }
  const torch::Tensor& sum() const { return sum_; }

 private:
  torch::Tensor sum_;
};

torch::Tensor loss_of_bags(std::span<const Example> examples,
                           const std::vector<torch::Tensor>& of_trace,
                           const torch::Tensor& good_is_bad) {
  std::vector<torch::Tensor> told;
  std::vector<float> bad;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    if (examples[i].bad < 0) continue;
    told.push_back(of_trace[i]);
    bad.push_back(examples[i].bad);
  }
  if (told.empty()) return {};
  const auto labels =
      at::from_blob(bad.data(), {static_cast<std::int64_t>(bad.size())}, at::kFloat);
  return bags_loss(at::stack(told), labels.clone().to(told[0].device()), good_is_bad);
}

torch::Tensor loss_of_pairs(std::span<const Example> examples,
                            const std::vector<torch::Tensor>& of_trace) {
  std::map<std::int64_t, std::array<const torch::Tensor*, 2>> pairs;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    if (examples[i].pair < 0) continue;
    pairs[examples[i].pair][static_cast<std::size_t>(examples[i].bad)] = &of_trace[i];
  }
  std::vector<torch::Tensor> fixed, slow;
  for (const auto& [number, twins] : pairs) {
    if (twins[0] == nullptr || twins[1] == nullptr) continue;
    fixed.push_back(*twins[0]);
    slow.push_back(*twins[1]);
  }
  if (slow.empty()) return {};
  return pairs_loss(at::stack(slow), at::stack(fixed));
}

torch::Tensor loss_of_hidden(Network& network, const Tables& tables,
                             const BatchTensors& b, const ReadWindows& read,
                             const torch::Tensor& hidden) {
  const auto at_hidden = hidden.narrow(0, 0, b.kept).nonzero().view(-1);
  if (at_hidden.size(0) == 0) return {};
  std::vector<torch::Tensor> times;
  for (std::size_t i = 0; i < tables.figures.size(); ++i) {
    const auto& name = tables.figures[i].name;
    if (name != "duration" && name != "gap") continue;
    const auto at = static_cast<std::int64_t>(i);
    const auto& f = *network.events->figures;
    const auto values = b.figures.index_select(0, at_hidden).select(1, at);
    times.push_back(((values - f.mean[at]) / f.deviation[at]).clamp(-8, 8));
  }
  if (times.size() != 2) return {};  // the tables lack one
  return hidden_loss(network.guess(read.tokens.index_select(0, at_hidden)),
                     b.kind.index_select(0, at_hidden).to(at::kLong),
                     at::stack(times, 1));
}

}  // namespace

void with_losses(Network& network, at::Device device, const Config& config,
                 const Tables& tables, const Matching& matching,
                 std::span<const Example> examples, const Training& training,
                 const Checkpoint& checkpoint,
                 const std::function<void(StepLosses)>& learn) {
  const auto most = static_cast<std::size_t>(config.max_tokens);
  const Together all(examples, most);
  const auto columns = matching.given_columns;
  const auto& w = training.weights;
  // The way back reads the batches again.
  std::deque<Batch> batches;
  std::deque<std::vector<float>> statistics;
  std::vector<torch::Tensor> read, hidden_losses;
  std::vector<std::int64_t> order;
  for (const auto& group : group_by_length(all.lengths, {training.batch_tokens})) {
    checkpoint();
    std::vector<WindowRef> refs;
    auto& rows = statistics.emplace_back();
    for (const auto i : group) {
      refs.push_back(all.windows[i]);
      order.push_back(static_cast<std::int64_t>(i));
      const auto& ref = refs.back();
      const auto row = all.traces[ref.trace].windows.subspan(
          static_cast<std::size_t>(ref.window) * columns, columns);
      matching.add_windows(row, rows);
    }
    const BatchTensors b(
        batches.emplace_back(make_batch(all.traces, refs, most, matching)), device);
    torch::Tensor hidden;
    if (w.masked > 0) {
      hidden = at::rand({b.kind.size(0)}, b.figures.options()) < training.masked_share;
    }
    const auto out =
        network.read(b, rows_of(rows, tables.window_columns(), device), hidden);
    read.push_back(out.windows);
    if (!hidden.defined()) continue;
    const auto loss = loss_of_hidden(network, tables, b, out, hidden);
    if (loss.defined()) hidden_losses.push_back(loss);
  }
  // Back into the order of the examples.
  std::vector<std::int64_t> place(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    place[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  }
  const auto places =
      at::from_blob(place.data(), {static_cast<std::int64_t>(place.size())}, at::kLong);
  const auto windows = at::cat(read).index_select(0, places.to(device));
  std::vector<torch::Tensor> logits, of_trace;
  std::int64_t first = 0;
  for (const auto& e : examples) {
    logits.push_back(network.judge(windows.narrow(0, first, e.last - e.first)));
    of_trace.push_back(trace_logit(logits.back().narrow(1, 0, 2), training.top_share));
    first += e.last - e.first;
  }
  const auto told = at::cat(logits);
  const auto patterns = tables.patterns.size();
  const auto types = static_cast<std::int64_t>(patterns);
  constexpr std::int8_t kUnknown = -1;
  Losses losses;
  StepLosses out;
  auto& parts = out.parts;
  losses.add(w.any,
             labels_loss(told.narrow(1, 0, 2),
                         labels_of(examples, &Example::any, 2, kUnknown, device)),
             parts.any);
  losses.add(w.types,
             labels_loss(told.narrow(1, 2, types),
                         labels_of(examples, &Example::types, patterns, kUnknown,
                                   device, matching.patterns)),
             parts.types);
  losses.add(w.recoverable,
             share_loss(told.narrow(1, 2 + types, 1),
                        labels_of(examples, &Example::recoverable, 1,
                                  std::numeric_limits<float>::quiet_NaN(), device)),
             parts.recoverable);
  losses.add(w.bags, loss_of_bags(examples, of_trace, network.good_is_bad), parts.bags);
  losses.add(w.pairs, loss_of_pairs(examples, of_trace), parts.pairs);
  losses.add(w.masked,
             hidden_losses.empty() ? torch::Tensor() : at::stack(hidden_losses).mean(),
             parts.masked);
  out.sum = losses.sum();
  learn(std::move(out));
}

}  // namespace tta::detector

// SPDX-License-Identifier: BSD-3-Clause
// detector/detector.cpp: a network, drawn or loaded, and steps of its training.
#include "detector/detector.h"

#include <ATen/Context.h>
#include <ATen/core/Generator.h>
#include <ATen/ops/from_blob.h>
#include <torch/nn/utils/clip_grad.h>

#include <cmath>
#include <mutex>
#include <optional>
#include <stdexcept>

#include "detector/columns.h"
#include "detector/state.h"
#include "detector/step.h"
#include "detector/tables.h"

namespace tta::detector {
namespace {

at::Device device_of(const std::string& name) {
  std::optional<at::Device> out;
  try {
    out = at::Device(name);
  } catch (const c10::Error&) {
    throw std::invalid_argument("there is no device \"" + name + "\"");
  }
  if (!out->is_cpu() && !out->is_cuda()) {
    throw std::invalid_argument("device must be cpu or cuda, not " + name);
  }
  if (out->is_cuda() && !at::hasCUDA()) {
    throw std::invalid_argument("device " + name + ": torch finds no GPU here");
  }
  return *out;
}

// Seeds the generators of the CPU and of a device, and puts back what they were.
class Seeded {
 public:
  Seeded(at::Device device, std::uint64_t seed) {
    generators_.push_back(at::globalContext().defaultGenerator(at::Device(at::kCPU)));
    if (device.is_cuda()) {
      generators_.push_back(at::globalContext().defaultGenerator(device));
    }
    for (auto& generator : generators_) {
      const std::scoped_lock lock(generator.mutex());
      before_.push_back(generator.get_state());
      generator.set_current_seed(seed);
    }
  }
  ~Seeded() {
    for (std::size_t i = 0; i < generators_.size(); ++i) {
      const std::scoped_lock lock(generators_[i].mutex());
      generators_[i].set_state(before_[i]);
    }
  }
  Seeded(const Seeded&) = delete;
  Seeded& operator=(const Seeded&) = delete;

 private:
  std::vector<at::Generator> generators_;
  std::vector<at::Tensor> before_;
};

// Splitmix64: steps of neighboring seeds must not share their numbers.
std::uint64_t mixed(std::uint64_t seed, std::int64_t step) {
  auto z = seed + 0x9e3779b97f4a7c15u * (static_cast<std::uint64_t>(step) + 1);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// Norms, biases and tables are not drawn to 0.
std::vector<torch::optim::OptimizerParamGroup> groups_of(const Network& network) {
  std::vector<torch::Tensor> decayed, kept;
  for (const auto& named : network.named_parameters()) {
    const auto matrix = named.value().dim() == 2 && named.value().size(0) > 1;
    const auto table = named.key().find("words.") != std::string::npos ||
                       named.key().find("places.") != std::string::npos;
    (matrix && !table ? decayed : kept).push_back(named.value());
  }
  using torch::optim::AdamWOptions;
  std::vector<torch::optim::OptimizerParamGroup> out;
  out.emplace_back(decayed, std::make_unique<AdamWOptions>());
  out.emplace_back(kept,
                   std::make_unique<AdamWOptions>(AdamWOptions().weight_decay(0)));
  return out;
}

std::shared_ptr<Network> drawn(const Config& config, const Tables& tables,
                               std::uint64_t seed, at::Device device) {
  const Seeded seeded(at::kCPU, seed);
  auto out = std::make_shared<Network>(config, tables);
  out->eval();
  // Whatever torch.set_default_dtype says.
  out->to(device, at::kFloat);
  return out;
}

std::vector<float> values_of(const torch::Tensor& tensor) {
  const auto t = tensor.to(at::kCPU).contiguous();
  return {t.data_ptr<float>(), t.data_ptr<float>() + t.numel()};
}

}  // namespace

Detector::State::State(const Config& c, const Tables& t, std::uint64_t seed,
                       at::Device on)
    : config(c),
      tables(t),
      matching(match(t, t)),
      device(on),
      progress{seed, 0},
      network(drawn(c, t, seed, on)),
      optimizer(groups_of(*network), torch::optim::AdamWOptions()) {}

Detector::Detector(const Config& config, std::uint64_t seed, const std::string& device,
                   const Tables& tables) {
  check(config, tables);
  state_ = std::make_unique<State>(config, tables, seed, device_of(device));
}
Detector::Detector(std::unique_ptr<State> state) : state_(std::move(state)) {}
Detector::Detector(Detector&&) noexcept = default;
Detector& Detector::operator=(Detector&&) noexcept = default;
Detector::~Detector() = default;

Detector Detector::load(const std::string& path, const std::string& device,
                        const Tables& ours) {
  device_of(device);  // before a large file is read
  return load(read_tensors(path), device, ours);
}

Detector Detector::load(const TensorsFile& file, const std::string& device,
                        const Tables& ours) {
  const auto on = device_of(device);
  const auto tables = read_tables(file);
  auto matching = match(file, ours, tables);
  auto state = std::make_unique<State>(read_config(file, tables), tables, 0, on);
  load_weights(file, *state->network, state->optimizer);
  const auto& network = *state->network;
  matching.usual_windows = read_known(file, tables).middle;
  if (matching.usual_windows.empty()) {
    matching.usual_windows = values_of(network.statistics->mean);
  }
  matching.usual_figures = values_of(network.events->figures->mean);
  state->matching = std::move(matching);
  state->progress = read_progress(file);
  state->card = read_card(file);
  return Detector(std::move(state));
}

void Detector::save(const std::string& path, bool training,
                    const TensorParts& more) const {
  save_weights(path, state_->config, state_->tables, *state_->network, state_->progress,
               training ? &state_->optimizer : nullptr, more);
}

const Config& Detector::config() const { return state_->config; }
const Tables& Detector::tables() const { return state_->tables; }
const Matching& Detector::matching() const { return state_->matching; }
std::string Detector::device() const { return state_->device.str(); }
std::int64_t Detector::steps_done() const { return state_->progress.steps; }
const Card& Detector::card() const { return state_->card; }
void Detector::restart(std::uint64_t seed) {
  state_->progress = {seed, 0};
  state_->optimizer.state().clear();
}
std::int64_t Detector::parameters() const {
  std::int64_t out = 0;
  for (const auto& parameter : state_->network->parameters()) out += parameter.numel();
  return out;
}

void Detector::fit_columns(std::span<const Arrays* const> traces) {
  const auto& tables = state_->tables;
  const auto& matching = state_->matching;
  Usual windows(tables.window_columns()), tokens(tables.figures.size());
  const auto most = static_cast<std::size_t>(state_->config.max_tokens);
  for (const auto* const arrays : traces) {
    std::vector<float> rows;
    matching.add_windows(arrays->windows, rows);
    windows.add(rows);
    for (std::size_t i = 0; i < arrays->count(); ++i) {
      std::vector<float> figures, read;
      read_figures(*arrays, choose_tokens(*arrays, static_cast<std::int64_t>(i), most),
                   figures);
      matching.add_figures(figures, kFigures, read);
      tokens.add(read);
    }
  }
  const auto set = [](Figures& to, const Usual& usual) {
    const torch::NoGradGuard guard;
    auto mean = usual.mean(), deviation = usual.deviation();
    const auto n = static_cast<std::int64_t>(mean.size());
    to.mean.copy_(at::from_blob(mean.data(), {n}, at::kFloat));
    to.deviation.copy_(at::from_blob(deviation.data(), {n}, at::kFloat));
  };
  set(*state_->network->statistics, windows);
  set(*state_->network->events->figures, tokens);
}

StepResult Detector::train(std::span<const Example> examples, const Training& training,
                           const Checkpoint& checkpoint) {
  auto& s = *state_;
  check(examples, s.matching.given_patterns);
  const OperationThreads threads(training.threads);
  const Precision precision(s.device, false);
  const Seeded seeded(s.device, mixed(s.progress.seed, s.progress.steps));
  struct Trains {
    explicit Trains(Network& n) : network(n) { network.train(); }
    ~Trains() { network.eval(); }
    Network& network;
  } const trains(*s.network);
  StepResult out;
  s.optimizer.zero_grad();
  with_losses(*s.network, s.device, s.config, s.tables, s.matching, examples, training,
              checkpoint, [&](const StepLosses& losses) {
                if (!losses.sum.defined()) {
                  throw std::invalid_argument("no loss applies to these examples");
                }
                out = losses.parts;
                out.loss = losses.sum.item<double>();
                if (!std::isfinite(out.loss))
                  throw std::runtime_error("the loss is not a number");
                losses.sum.backward();
                checkpoint();
                out.gradient = torch::nn::utils::clip_grad_norm_(
                    s.network->parameters(), training.clip);
                if (!std::isfinite(out.gradient))
                  throw std::runtime_error("a gradient is not a number");
              });
  out.rate = rate_at(training, s.progress.steps);
  auto& groups = s.optimizer.param_groups();
  for (std::size_t i = 0; i < groups.size(); ++i) {
    auto& options = static_cast<torch::optim::AdamWOptions&>(groups[i].options());
    options.lr(out.rate);
    if (i == 0) options.weight_decay(training.weight_decay);
  }
  s.optimizer.step();
  out.step = ++s.progress.steps;
  return out;
}

}  // namespace tta::detector

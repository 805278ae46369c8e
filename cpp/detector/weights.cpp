// SPDX-License-Identifier: BSD-3-Clause
// detector/weights.cpp: names of tensors, and what must be true of them.
#include "detector/weights.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <charconv>
#include <cstring>
#include <limits>
#include <memory>
#include <set>
#include <stdexcept>

#include "detector/stack_file.h"
#include "detector/tables.h"

namespace tta::detector {
namespace {

const std::string kNetwork = "network.", kMean = "adam.mean.", kSquare = "adam.square.",
                  kStep = "adam.step.";

using State = torch::optim::AdamWParamState;

[[noreturn]] void refuse(const TensorsFile& file, const std::string& what) {
  throw WeightsError(file.path + ": " + what +
                     ". The file's content does not match its header: use "
                     "weights that torchtraceap wrote.");
}

std::map<std::string, torch::Tensor> tensors_of(const Network& network) {
  std::map<std::string, torch::Tensor> out;
  for (const auto& named : network.named_parameters()) out[named.key()] = named.value();
  for (const auto& named : network.named_buffers()) out[named.key()] = named.value();
  return out;
}

// Keeps the memory that views refer to.
class Writer {
 public:
  void add(std::string name, const torch::Tensor& tensor) {
    kept_.push_back(tensor.detach().to(at::kCPU).contiguous());
    const auto& t = kept_.back();
    views_.push_back({std::move(name),
                      Dtype::kFloat32,
                      t.sizes().vec(),
                      {static_cast<const std::byte*>(t.data_ptr()), t.nbytes()}});
  }
  void add(std::string name, std::int64_t number) {
    numbers_.push_back(std::make_unique<std::int64_t>(number));
    views_.push_back({std::move(name),
                      Dtype::kInt64,
                      {},
                      std::as_bytes(std::span(numbers_.back().get(), 1))});
  }
  void add(const std::vector<TensorView>& more) {
    views_.insert(views_.end(), more.begin(), more.end());
  }
  const std::vector<TensorView>& views() const { return views_; }

 private:
  std::vector<torch::Tensor> kept_;
  std::vector<std::unique_ptr<std::int64_t>> numbers_;
  std::vector<TensorView> views_;
};

class Reader {
 public:
  explicit Reader(const TensorsFile& file) : file_(file) {
    for (const auto& tensor : file.tensors) {
      if (!is_of_stack(tensor.name)) left_[tensor.name] = &tensor;
    }
  }
  bool has(const std::string& name) const { return left_.count(name) > 0; }

  void read(const std::string& name, const torch::Tensor& into) {
    const auto& view = take(name);
    if (view.dtype != Dtype::kFloat32 || view.shape != into.sizes().vec()) {
      refuse(file_, "the tensor " + shown(name) + " has another type or shape");
    }
    auto read = at::empty(into.sizes(), at::kFloat);
    std::memcpy(read.data_ptr(), view.data.data(), view.data.size());
    // What is divided by, and what a root is taken of.
    const auto wrong = name.ends_with("deviation") ? read <= 0
                       : name.starts_with(kSquare) ? read < 0
                                                   : read.isnan();
    if ((wrong | read.isfinite().logical_not()).any().item<bool>()) {
      refuse(file_, "the tensor " + shown(name) + " holds no sensible numbers");
    }
    into.copy_(read);
  }
  std::int64_t read_number(const std::string& name) {
    const auto& view = take(name);
    std::int64_t out = 0;
    if (view.dtype != Dtype::kInt64 || !view.shape.empty()) {
      refuse(file_, "the tensor " + shown(name) + " is not a number");
    }
    std::memcpy(&out, view.data.data(), sizeof(out));
    if (out < 0) refuse(file_, "the tensor " + shown(name) + " is negative");
    return out;
  }
  void end() const {
    if (!left_.empty()) {
      refuse(file_, "the tensor " + shown(left_.begin()->first) +
                        " does not belong to this network");
    }
  }

 private:
  const TensorView& take(const std::string& name) {
    const auto found = left_.find(name);
    if (found == left_.end())
      refuse(file_, "the tensor " + shown(name) + " is missing");
    const auto& out = *found->second;
    left_.erase(found);
    return out;
  }

  const TensorsFile& file_;
  std::map<std::string, const TensorView*> left_;
};

// Fewer than any such network has.
double least_bytes(const Config& c, const Tables& t) {
  const auto layers = static_cast<double>(c.layers + c.trace_layers);
  const auto names = static_cast<double>(t.window_columns() + t.figures.size() +
                                         2 * t.kinds.size() + t.outputs());
  const auto width = static_cast<double>(c.width);
  const auto of_layer = 4 * width * width + 2 * width * static_cast<double>(c.hidden);
  return 4 * (layers * of_layer + width * (static_cast<double>(c.max_tokens) + names) +
              features::kPieceHashes * static_cast<double>(c.word_width) +
              static_cast<double>(c.trace_layers * c.heads * 2 * c.reach));
}

template <typename T>
T number_about(const TensorsFile& file, const std::string& key) {
  const auto& text = file.about(key);
  T out{};
  const auto* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, out);
  if (read.ec != std::errc() || read.ptr != end) refuse(file, key + " is not a number");
  return out;
}

}  // namespace

void save_weights(const std::string& path, const Config& config, const Tables& tables,
                  const Network& network, const Progress& progress,
                  torch::optim::AdamW* optimizer, const TensorParts& more) {
  Writer writer;
  for (const auto& [name, tensor] : tensors_of(network)) {
    writer.add(kNetwork + name, tensor);
  }
  if (optimizer != nullptr) {
    for (const auto& named : network.named_parameters()) {
      const auto found = optimizer->state().find(named.value().unsafeGetTensorImpl());
      if (found == optimizer->state().end()) continue;
      const auto& state = static_cast<const State&>(*found->second);
      writer.add(kMean + named.key(), state.exp_avg());
      writer.add(kSquare + named.key(), state.exp_avg_sq());
      writer.add(kStep + named.key(), state.step());
    }
  }
  writer.add(more.tensors);
  auto metadata = more.metadata;
  name_tables(tables, metadata);
  metadata["seed"] = std::to_string(progress.seed);
  metadata["steps"] = std::to_string(progress.steps);
  for (const auto& [name, value] : to_text(config)) metadata[kNetwork + name] = value;
  write_tensors(path, std::move(metadata), writer.views());
}

Config read_config(const TensorsFile& file, const Tables& tables) {
  std::map<std::string, std::string> text;
  for (const auto& [key, value] : file.metadata) {
    if (key.starts_with(kNetwork)) text[key.substr(kNetwork.size())] = value;
  }
  Config out;
  try {
    out = config_from_text(text, tables);
  } catch (const std::invalid_argument& error) {
    refuse(file, std::string("it describes no network: ") + shown(error.what()));
  }
  if (least_bytes(out, tables) > static_cast<double>(file.bytes.size())) {
    refuse(file, "it is too small for the network that it describes");
  }
  return out;
}

Progress read_progress(const TensorsFile& file) {
  Progress out{number_about<std::uint64_t>(file, "seed"),
               number_about<std::int64_t>(file, "steps")};
  if (out.steps < 0) refuse(file, "steps is negative");
  return out;
}

void load_weights(const TensorsFile& file, Network& network,
                  torch::optim::AdamW& optimizer) {
  const torch::NoGradGuard guard;
  Reader reader(file);
  for (const auto& [name, tensor] : tensors_of(network)) {
    reader.read(kNetwork + name, tensor);
  }
  for (const auto& named : network.named_parameters()) {
    if (!reader.has(kStep + named.key())) continue;
    auto state = std::make_unique<State>();
    state->exp_avg(at::empty_like(named.value()));
    state->exp_avg_sq(at::empty_like(named.value()));
    reader.read(kMean + named.key(), state->exp_avg());
    reader.read(kSquare + named.key(), state->exp_avg_sq());
    state->step(reader.read_number(kStep + named.key()));
    optimizer.state()[named.value().unsafeGetTensorImpl()] = std::move(state);
  }
  reader.end();
}

}  // namespace tta::detector

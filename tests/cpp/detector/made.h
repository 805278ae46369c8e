// SPDX-License-Identifier: BSD-3-Clause
// detector/made.h: arrays made by hand, or drawn, which no trace was needed for.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string_view>
#include <vector>

#include "detector/arrays.h"
#include "detector/config.h"
#include "features/token_columns.h"

namespace tta::detector {

constexpr std::uint8_t kOperator = 3, kLaunch = 20, kKernel = 31;  // numbers of kinds

/// Grows token by token; `arrays()` views it.
class Made {
 public:
  /// Begins a window, with all its statistics 0.5.
  Made& window() {
    if (started_) begin_.push_back(static_cast<std::int64_t>(tokens.size()));
    started_ = true;
    windows.resize(windows.size() + columns(), 0.5f);
    return *this;
  }
  /// Adds a token to it and returns its place.
  std::int32_t token(std::uint8_t kind, float duration = 10, std::int32_t parent = -1,
                     std::int32_t launch = -1, std::int32_t repeats = 1) {
    const auto at = tokens.size();
    tokens.resize(at + 1);
    tokens.kind[at] = kind;
    tokens.lane_kind[at] = kind >= 28 ? 2 : 0;
    tokens.piece0[at] = static_cast<std::uint16_t>(1 + kind * 7);
    tokens.place[at] = std::min(1.0f, 0.01f * static_cast<float>(at % 100));
    tokens.duration[at] = duration;
    tokens.duration_ratio[at] = 1;
    tokens.launch_delay[at] = tokens.bytes[at] = tokens.blocks[at] = -1;
    tokens.block_threads[at] = tokens.elements[at] = -1;
    tokens.parent[at] = parent;
    tokens.launch[at] = launch;
    tokens.repeats[at] = repeats;
    return static_cast<std::int32_t>(at);
  }
  /// Sets a statistic of the last window.
  Made& with(std::string_view column, float value) {
    const auto all = features::window_columns();
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const auto& c) { return c.name == column; });
    const auto at = static_cast<std::size_t>(found - all.begin());
    windows[windows.size() - columns() + at] = value;
    return *this;
  }
  Arrays arrays() {
    begins_ = begin_;
    if (started_) begins_.push_back(static_cast<std::int64_t>(tokens.size()));
    Arrays out;
    out.windows = windows;
    out.token_begin = begins_;
#define TTA_VIEW(name, type, unit, normalization, missing, doc) out.name = tokens.name;
    TTA_TOKENS(TTA_VIEW)
#undef TTA_VIEW
    return out;
  }

  std::vector<float> windows;
  features::Tokens tokens;

  static std::size_t columns() { return features::window_columns().size(); }

 private:
  bool started_ = false;
  std::vector<std::int64_t> begin_ = {0}, begins_;
};

/// A network that trains in a second; dropout is as it is by default.
inline Config tiny() {
  Config config;
  config.width = 16;
  config.heads = 2;
  config.layers = 1;
  config.trace_layers = 1;
  config.hidden = 24;
  config.word_width = 4;
  config.max_tokens = 32;
  config.reach = 8;
  return config;
}

/// Draws windows of 0 to `most` tokens, with operators, launches and their kernels.
inline Made drawn(std::size_t windows, unsigned seed, std::size_t most = 40) {
  std::mt19937 random(seed);
  const auto upto = [&](std::size_t n) {
    return static_cast<std::int32_t>(random() % n);
  };
  Made out;
  for (std::size_t w = 0; w < windows; ++w) {
    out.window();
    for (auto& value : std::vector<float>(3)) {
      value = static_cast<float>(upto(100)) / 100;
      out.windows[out.windows.size() - 1 - random() % Made::columns()] = value;
    }
    const auto count = random() % (most + 1);
    for (std::size_t i = 0; i < count; ++i) {
      const auto time = static_cast<float>(upto(200)) / 10;
      const auto size = out.tokens.size();
      const auto before = size == 0 ? -1 : upto(size + 1) - 1;
      if (upto(3) == 0 && before >= 0) {
        out.token(kKernel, time, -1, before, upto(4) == 0 ? 0 : 1);
      } else {
        out.token(static_cast<std::uint8_t>(upto(28)), time, before, -1, upto(4));
      }
    }
  }
  return out;
}

}  // namespace tta::detector

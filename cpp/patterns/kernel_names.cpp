// SPDX-License-Identifier: BSD-3-Clause
// patterns/kernel_names.cpp: what the names of kernels and operators tell.
#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <string>

#include "patterns/matrix_kernels.h"
#include "timeline/by_name.h"

namespace tta::patterns {
namespace {

using timeline::contains_any;

// The instruction (884, 1688, 16816: m, n, k of one tensor core operation), or what
// only tensor cores compute with.
constexpr std::array<std::string_view, 17> kTensorCores = {
    "tensorop", "884",   "1688",     "16816",  "161616", "16832",
    "hmma",     "imma",  "dmma",     "wmma",   "wgmma",  "gmma",
    "tf32",     "nvjet", "bf16bf16", "f16f16", "umma"};

constexpr std::array<std::string_view, 10> kPlainUnits = {"sgemm",
                                                          "dgemm",
                                                          "simt",
                                                          "ffma",
                                                          "scudnn",
                                                          "dcudnn",
                                                          "dgrad_engine<float",
                                                          "wgrad_alg0_engine<float",
                                                          "dgrad2d_alg1",
                                                          "wgrad2d_"};

// Parts that are in no other word.
constexpr std::array<std::string_view, 14> kTunedParts = {
    "gemm",  "gemv", "cutlass", "nvjet",  "cudnn",     "winograd",    "fmha",
    "flash", "attn", "cijk_",   "cublas", "attention", "triton_tem_", "marlin"};

// Whole words: as parts they are in "gamma", "convert", "comm", "bilinear".
constexpr std::array<std::string_view, 21> kTunedWords = {
    "mma",         "xmma",          "hmma",    "imma",   "wgmma",  "umma",   "mm",
    "bmm",         "addmm",         "baddbmm", "addbmm", "matmul", "conv",   "convolve",
    "convolution", "convolutional", "lstm",    "gru",    "rnn",    "linear", "fft"};

// What reads and writes memory and computes little: by parts of its name.
constexpr std::array<std::string_view, 18> kMemoryParts = {
    "elementwise", "reduce", "reduction", "softmax",     "norm",        "copy",
    "transpose",   "scan",   "sort",      "gather",      "scatter",     "index",
    "embedding",   "pool",   "dropout",   "triton_poi_", "triton_red_", "triton_per_"};

std::string lower_case(std::string_view name) {
  std::string out(name);
  for (auto& ch : out)
    ch = static_cast<char>(std::tolower(static_cast<unsigned char>(ch)));
  return out;
}

// Tells whether a name has one of the words: letters, divided by anything else and
// where a capital follows a small letter.
bool contains_word(std::string_view name, std::span<const std::string_view> words) {
  const auto is = [&](std::size_t i, auto&& test) {
    return i < name.size() && test(static_cast<unsigned char>(name[i])) != 0;
  };
  const auto letter = [](unsigned char ch) { return std::isalpha(ch); };
  const auto small = [](unsigned char ch) { return std::islower(ch); };
  const auto capital = [](unsigned char ch) { return std::isupper(ch); };
  for (std::size_t begin = 0; begin < name.size();) {
    if (!is(begin, letter)) {
      ++begin;
      continue;
    }
    auto end = begin + 1;
    while (is(end, letter) && !(is(end - 1, small) && is(end, capital))) ++end;
    const auto word = lower_case(name.substr(begin, end - begin));
    if (std::find(words.begin(), words.end(), word) != words.end()) return true;
    begin = end;
  }
  return false;
}

}  // namespace

bool uses_tensor_cores(std::string_view kernel) {
  return contains_any(kernel, kTensorCores);
}

bool uses_plain_units(std::string_view kernel) {
  return contains_any(kernel, kPlainUnits) && !uses_tensor_cores(kernel);
}

bool names_tuned(std::string_view name) {
  return contains_any(lower_case(name), kTunedParts) ||
         contains_word(name, kTunedWords);
}

bool names_memory_bound(std::string_view name) {
  return contains_any(lower_case(name), kMemoryParts);
}

}  // namespace tta::patterns

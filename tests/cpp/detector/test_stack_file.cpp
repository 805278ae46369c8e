// SPDX-License-Identifier: BSD-3-Clause
// A stack in a file: the same when it comes back, and refused if it is not whole.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <random>

#include "detector/files.h"
#include "detector/made.h"
#include "detector/stack_file.h"
#include "detector/stacked.h"
#include "support/says.h"

namespace tta::detector {
namespace {

using test::says;

const Card kCard = {{"name", "größer \"1\"\n"}, {"seed", "7"}};

std::vector<std::byte> raw_bytes_of(const std::string& path) {
  const auto text = bytes_of(path);
  const auto* const data = reinterpret_cast<const std::byte*>(text.data());
  return {data, data + text.size()};
}

void write(const std::string& path, const Stack& stack, const Card& card = kCard) {
  const auto parts = parts_of(stack, card);
  write_tensors(path, parts.metadata, parts.tensors);
}

void expect_same(const Stack& a, const Stack& b) {
#define TTA_SAME(name, type, count, doc) \
  EXPECT_EQ(a.trees.trees().name, b.trees.trees().name);
  TTA_TREES(TTA_SAME)
#undef TTA_SAME
  EXPECT_EQ(a.mix.sides, b.mix.sides);
  EXPECT_EQ(a.mix.types, b.mix.types);
  EXPECT_EQ(a.mix.recoverable, b.mix.recoverable);
  EXPECT_EQ(a.calibration.negatives, b.calibration.negatives);
  EXPECT_EQ(a.known.center, b.known.center);
  EXPECT_EQ(a.known.middle, b.known.middle);
  EXPECT_EQ(a.known.whiten, b.known.whiten);
  EXPECT_EQ(a.known.window_from, b.known.window_from);
  EXPECT_EQ(a.known.trace_from, b.known.trace_from);
}

TEST(StackFile, WhatWasWrittenIsReadBack) {
  const auto path = path_of("stack");
  for (const auto& stack : {small_stack(), Stack()}) {
    write(path, stack);
    const auto file = read_tensors(path);
    expect_same(read_stack(file), stack);
    EXPECT_EQ(read_card(file), kCard);
    for (const auto& tensor : file.tensors) EXPECT_TRUE(is_of_stack(tensor.name));
  }
  write_tensors(path, {}, {});
  expect_same(read_stack(read_tensors(path)), Stack());
  EXPECT_FALSE(is_of_stack("trees.more"));
  EXPECT_FALSE(is_of_stack("network.told.bias"));
}

struct OwnTensor {
  TensorView view;
  std::vector<std::byte> data;
};
using OwnTensors = std::map<std::string, OwnTensor>;

// Writes a stack, changes the file and says why it is refused.
std::string refusal(const std::function<void(OwnTensors&)>& change) {
  const auto path = path_of("changed_stack");
  write(path, small_stack());
  const auto file = read_tensors(path);
  OwnTensors tensors;
  for (const auto& view : file.tensors) {
    tensors[view.name] = {view, {view.data.begin(), view.data.end()}};
  }
  change(tensors);
  std::vector<TensorView> views;
  for (auto& [name, tensor] : tensors) {
    tensor.view.data = tensor.data;
    views.push_back(tensor.view);
  }
  write_tensors(path, file.metadata, views);
  return why_refused<WeightsError>([&] { read_stack(read_tensors(path)); });
}

template <typename T>
void put(OwnTensor& tensor, std::size_t at, T value) {
  std::memcpy(tensor.data.data() + at * sizeof(T), &value, sizeof(T));
}

TEST(StackFile, EachTensorThatDoesNotFitIsRefused) {
  EXPECT_EQ(refusal([](auto&) {}), "");
  std::vector<std::string> names;
  refusal([&](auto& tensors) {
    for (const auto& [name, tensor] : tensors) names.push_back(name);
  });
  ASSERT_EQ(names.size(), 9u + 3 + 2 + 5);
  for (const auto& name : names) {
    SCOPED_TRACE(name);
    const auto with = [&](const std::function<void(OwnTensor&)>& change) {
      return refusal([&](auto& tensors) { change(tensors[name]); });
    };
    EXPECT_TRUE(says(refusal([&](auto& t) { t.erase(name); }),
                     "the tensor \"" + name + "\" is missing"));
    EXPECT_TRUE(says(with([](auto& t) { t.view.shape.push_back(1); }),
                     "\"" + name + "\" has another type or shape"));
    const bool whole = name.starts_with("trees.") && name != "trees.bound" &&
                       name != "trees.value" && name != "trees.base";
    EXPECT_TRUE(says(with([&](auto& t) {
                       t.view.dtype = whole ? Dtype::kFloat32 : Dtype::kInt64;
                       t.data.resize(t.data.size() * 2);
                       if (whole && !t.view.shape.empty()) t.view.shape[0] *= 4;
                     }),
                     "another type or shape"));
    const auto shorter = with([](auto& t) {
      const auto size = t.view.dtype == Dtype::kInt64 ? 8u : 4u;
      t.data.resize(t.data.size() - size);
      t.view.shape = {static_cast<std::int64_t>(t.data.size() / size)};
    });
    // Fewer negatives are a calibration too.
    EXPECT_EQ(shorter.empty(), name.starts_with("calibration.")) << shorter;
    if (whole) {
      EXPECT_NE(with([](auto& t) { put<std::int64_t>(t, 0, 1 << 30); }), "");
      EXPECT_NE(with([](auto& t) { put<std::int64_t>(t, 0, -9); }), "");
    } else {
      EXPECT_NE(with([](auto& t) { put(t, 0, NAN); }), "");
    }
  }
}

TEST(StackFile, WhatChecksRefuseIsSaidOfTheFile) {
  const auto unsorted = refusal([](auto& t) { put(t["calibration.gpu"], 0, 0.9f); });
  EXPECT_TRUE(says(unsorted, path_of("changed_stack") + ": calibration.gpu: value 1"));
  EXPECT_TRUE(says(unsorted,
                   "is not sorted. The file's content does not match its header: use"));
  const auto loop = refusal([](auto& t) { put<std::int64_t>(t["trees.left"], 2, 2); });
  EXPECT_TRUE(says(loop, "trees: left[2] is 2"));
}

TEST(StackFile, CardsThatNoFileHoldsAreRefused) {
  const auto card = [](const std::string& name, const std::string& text) {
    return why_refused([&] { check(Card{{name, text}}); });
  };
  EXPECT_EQ(card("name", "ö"), "");
  EXPECT_TRUE(says(card("", "x"), "a name is empty"));
  EXPECT_TRUE(says(card("name", "\xff"), "is not UTF-8"));
  EXPECT_TRUE(says(card("name", std::string(kMostCardBytes, 'x')), "of at most 65536"));
  write_tensors(path_of("card"), {{"card.name", "\xc3"}}, {});
  EXPECT_TRUE(
      says(why_refused<WeightsError>([] { read_card(read_tensors(path_of("card"))); }),
           "is not UTF-8. The file"));
  // One as long as may be is read back, whatever it takes to write it.
  const Card longest = {{"n", std::string(kMostCardBytes - 1, '\x01')}};
  write(path_of("card"), small_stack(), longest);
  EXPECT_EQ(read_card(read_tensors(path_of("card"))), longest);
}

// What is read of a damaged file can be asked, and walks end.
TEST(StackFile, RandomDamageIsRefusedOrHarmless) {
  const auto path = path_of("sound_stack");
  write(path, small_stack());
  const auto sound = raw_bytes_of(path);
  std::uint64_t header = 0;
  std::memcpy(&header, sound.data(), 8);
  const auto made = drawn(3, 1);
  const std::vector<float> logits(3 * own_tables().outputs(), 0.5f);
  std::mt19937 random(9);
  int refused = 0, read = 0;
  for (int i = 0; i < 6000; ++i) {
    auto bytes = sound;
    const auto in_header = i % 2 == 0;
    const auto at = in_header ? random() % (8 + header)
                              : 8 + header + random() % (bytes.size() - 8 - header);
    bytes[at] ^= static_cast<std::byte>(1u << random() % 8);
    if (i % 50 == 0) bytes.resize(at);
    try {
      const auto file = parse_tensors(std::move(bytes), "damaged");
      const auto stack = read_stack(file);
      check(read_card(file));
      const auto said = read_together(stack, made.windows, logits);
      for (const auto* values : {&said.probability, &said.types, &said.recoverable}) {
        for (const auto value : *values) ASSERT_TRUE(value >= 0 && value <= 1);
      }
      ++read;
    } catch (const WeightsError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 2000);
  EXPECT_GT(read, 500);
}

}  // namespace
}  // namespace tta::detector

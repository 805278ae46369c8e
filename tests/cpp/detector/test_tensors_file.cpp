// SPDX-License-Identifier: BSD-3-Clause
// Files of tensors: what is read back, and each thing that a file may not be.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "detector/tensors_file.h"
#include "support/says.h"

namespace tta::detector {
namespace {

using test::says;

std::vector<std::byte> file_of(std::string_view header, std::size_t data,
                               std::int64_t length = -1) {
  const std::uint64_t said =
      length < 0 ? header.size() : static_cast<std::uint64_t>(length);
  std::vector<std::byte> out(8 + header.size() + data);
  std::memcpy(out.data(), &said, 8);
  std::memcpy(out.data() + 8, header.data(), header.size());
  return out;
}

std::string refusal(std::vector<std::byte> bytes) {
  try {
    parse_tensors(std::move(bytes), "some.safetensors");
    return "";
  } catch (const WeightsError& error) {
    return error.what();
  }
}

std::string tensor(const std::string& name, const std::string& shape,
                   const std::string& offsets, const std::string& dtype = "F32") {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":[" + shape +
         "],\"data_offsets\":[" + offsets + "]}";
}

std::string ours(const std::string& tensors) {
  return std::string("{\"__metadata__\":{\"format\":\"some\"}") +
         (tensors.empty() ? "" : ",") + tensors + "}";
}

TEST(TensorsFile, WhatWasWrittenIsReadBack) {
  const std::vector<float> numbers = {1.5f, -2, 0, 3, 1e-30f, 6};
  const std::int64_t step = 7;
  const std::string path = testing::TempDir() + "written.safetensors";
  write_tensors(path, {{"what \"it\" is\\", "tab\there"}},
                std::vector<TensorView>{
                    {"a", Dtype::kFloat32, {2, 3}, std::as_bytes(std::span(numbers))},
                    {"empty", Dtype::kFloat32, {0, 4}, {}},
                    {"step", Dtype::kInt64, {}, std::as_bytes(std::span(&step, 1))}});
  auto read = read_tensors(path);
  const auto file = std::move(read);  // the views stay
  EXPECT_EQ(file.about("what \"it\" is\\"), "tab\there");
  ASSERT_EQ(file.tensors.size(), 3u);
  EXPECT_EQ(file.tensors[0].name, "a");
  EXPECT_EQ(file.tensors[0].shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(std::memcmp(file.tensors[0].data.data(), numbers.data(), 24), 0);
  const auto last = std::find_if(file.tensors.begin(), file.tensors.end(),
                                 [](const auto& t) { return t.name == "step"; });
  EXPECT_EQ(last->dtype, Dtype::kInt64);
  EXPECT_EQ(std::memcmp(last->data.data(), &step, 8), 0);
  // Data are aligned, so that others may map the file.
  EXPECT_EQ((file.tensors[0].data.data() - file.bytes.data()) % 8, 0);
}

struct Wrong {
  const char* name;
  std::vector<std::byte> bytes;
  const char* message;
};

class Refusals : public testing::TestWithParam<Wrong> {};

TEST_P(Refusals, SayWhatIsWrong) {
  const auto message = refusal(GetParam().bytes);
  EXPECT_TRUE(says(message, GetParam().message));
  EXPECT_EQ(message.rfind("some.safetensors: ", 0), 0u);  // where
  EXPECT_EQ(message.back(), '.');                         // and what to do
  EXPECT_NE(message.find(". "), std::string::npos);
}

const auto kOne = tensor("a", "2", "0,8");
const std::string kHuge = "999999999999999999";

INSTANTIATE_TEST_SUITE_P(
    , Refusals,
    testing::Values(
        Wrong{"empty", {}, "has 0 bytes"},
        Wrong{"short", std::vector<std::byte>(7), "has 7 bytes"},
        Wrong{"long_header", file_of(ours(kOne), 8, 1 << 30), "claims 1073741824"},
        Wrong{"header_past_the_end", file_of("{}", 0, 3), "claims 3 bytes"},
        Wrong{"most_header", file_of("{}", 0, std::int64_t(1) << 62), "claims"},
        Wrong{"no_json", file_of("pickle", 0), "byte 0 of the header: expected {"},
        Wrong{"cut_json", file_of("{\"a\":{", 0), "of the header"},
        Wrong{"no_string", file_of("{\"a", 0), "a string without an end"},
        Wrong{"control", file_of("{\"a\n\":{}}", 0), "a control character"},
        Wrong{"escape", file_of("{\"\\x\":{}}", 0), "an unknown escape"},
        Wrong{"wide_escape", file_of("{\"\\u0123\":{}}", 0), "beyond ASCII"},
        Wrong{"trailing", file_of("{} {}", 0), "follows the end"},
        Wrong{"deep", file_of("{\"a\":{\"shape\":[[1]]}}", 0), "expected a number"},
        Wrong{"unknown_field", file_of("{\"a\":{\"code\":1}}", 0), "unknown field"},
        Wrong{"no_offsets", file_of("{\"a\":{\"dtype\":\"F32\",\"shape\":[]}}", 0),
              "must have dtype, shape and data_offsets"},
        Wrong{"twice_a_field", file_of("{\"a\":{\"shape\":[],\"shape\":[]}}", 0),
              "\"shape\" comes twice"},
        Wrong{"one_offset", file_of("{" + tensor("a", "2", "0") + "}", 8),
              "must be two numbers"},
        Wrong{"negative", file_of("{" + tensor("a", "-2", "0,8") + "}", 8),
              "not negative"},
        Wrong{"fraction", file_of("{" + tensor("a", "2.0", "0,8") + "}", 8),
              "expected ]"},
        Wrong{"zeros", file_of("{" + tensor("a", "02", "0,8") + "}", 8),
              "begins with 0"},
        Wrong{"digits", file_of("{" + tensor("a", kHuge + "9", "0,8") + "}", 8),
              "more than 18 digits"},
        Wrong{"dimensions",
              file_of("{" + tensor("a", "1,1,1,1,1,1,1,1,1", "0,4") + "}", 4),
              "more than 8 numbers"},
        Wrong{"metadata_twice", file_of("{\"__metadata__\":{},\"__metadata__\":{}}", 0),
              "__metadata__ comes twice"},
        Wrong{"metadata_key_twice",
              file_of("{\"__metadata__\":{\"k\":\"\",\"k\":\"\"}}", 0), "come twice"},
        Wrong{"metadata_number", file_of("{\"__metadata__\":{\"k\":1}}", 0),
              "expected \""},
        Wrong{"name_twice",
              file_of("{" + kOne + "," + tensor("a", "2", "8,16") + "}", 16),
              "the tensor \"a\" comes twice"},
        Wrong{"dtype", file_of("{" + tensor("a", "2", "0,4", "F16") + "}", 4),
              "neither F32 nor I64"},
        Wrong{"backwards", file_of("{" + tensor("a", "2", "8,0") + "}", 8),
              "lies at bytes 8 to 0 of 8"},
        Wrong{"outside", file_of("{" + tensor("a", "4", "0,16") + "}", 8),
              "lies at bytes 0 to 16 of 8"},
        Wrong{"far_outside",
              file_of("{" + tensor("a", "2", kHuge + "," + kHuge) + "}", 8),
              "lies at bytes"},
        Wrong{"size", file_of("{" + tensor("a", "3", "0,8") + "}", 8),
              "has bytes 0 to 8, and its shape takes 12"},
        Wrong{"overflow",
              file_of("{" + tensor("a", "4294967296,4294967296", "0,0") + "}", 0),
              "its shape takes more than a file may have"},
        Wrong{"overlap", file_of("{" + kOne + "," + tensor("b", "2", "4,12") + "}", 12),
              "tensors overlap before byte 8"},
        Wrong{"the_same_bytes",
              file_of("{" + kOne + "," + tensor("b", "2", "0,8") + "}", 8),
              "tensors overlap"},
        Wrong{"hole", file_of("{" + kOne + "," + tensor("b", "2", "16,24") + "}", 24),
              "no tensor has the bytes before byte 16"},
        Wrong{"hole_at_first", file_of("{" + tensor("b", "2", "8,16") + "}", 16),
              "no tensor has the bytes before byte 8"},
        Wrong{"rest", file_of("{" + kOne + "}", 9), "after the last tensor come 1"}),
    [](const auto& param) { return std::string(param.param.name); });

TEST(TensorsFile, ASoundOneIsNotRefused) {
  EXPECT_EQ(refusal(file_of(ours(kOne), 8)), "");
  EXPECT_EQ(refusal(file_of(ours(""), 0)), "");
  EXPECT_EQ(refusal(file_of(" " + ours(kOne) + "   ", 8)), "");
  // In any order, and with tensors of no bytes between.
  EXPECT_EQ(refusal(file_of(ours(tensor("b", "2", "8,16") + "," + kOne + "," +
                                 tensor("c", "0", "8,8")),
                            16)),
            "");
}

// Damage may only lead to a refusal; an accepted file has every byte once.
TEST(TensorsFile, RandomDamageIsRefusedOrHarmless) {
  const auto sound = file_of(ours(kOne + "," + tensor("b", "3,1", "8,20") + "," +
                                  tensor("s", "", "20,28", "I64")),
                             28);
  std::mt19937 random(20);
  const std::string likely = "0123456789,:[]{}\"\\u \xff";
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    auto bytes = sound;
    for (auto left = 1 + random() % 3; left > 0; --left) {
      const auto at = random() % bytes.size();
      switch (random() % 4) {
        case 0:
          bytes[at] = static_cast<std::byte>(random());
          break;
        case 1:
          bytes[at] = static_cast<std::byte>(likely[random() % likely.size()]);
          break;
        case 2:
          bytes.resize(at + 1);
          break;
        default:
          bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes[at]);
      }
    }
    try {
      const auto file = parse_tensors(bytes, "damaged");
      std::size_t data = 0;
      for (const auto& t : file.tensors) {
        data += t.data.size();
        ASSERT_GE(t.data.data(), file.bytes.data());
        ASSERT_LE(t.data.data() + t.data.size(), file.bytes.data() + file.bytes.size());
      }
      std::uint64_t header = 0;
      std::memcpy(&header, bytes.data(), 8);
      ASSERT_EQ(8 + header + data, bytes.size());
    } catch (const WeightsError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 10000);
}

TEST(TensorsFile, WhatCannotBeReadOrWrittenIsSaid) {
  const auto reading = [](const std::string& path) -> std::string {
    try {
      read_tensors(path);
      return "";
    } catch (const WeightsError& error) {
      return error.what();
    }
  };
  EXPECT_TRUE(says(reading("/no/such/file"), "/no/such/file: cannot be read. Check"));
  EXPECT_NE(reading(testing::TempDir()), "");
  const auto pipe = testing::TempDir() + "pipe";
  mkfifo(pipe.c_str(), 0600);
  EXPECT_TRUE(says(reading(pipe), "is not a regular file"));
  const auto folder = testing::TempDir() + "kept";
  std::filesystem::create_directory(folder);
  try {
    write_tensors(folder, {}, {});
    FAIL() << "a folder was replaced";
  } catch (const WeightsError& error) {
    EXPECT_TRUE(says(error.what(), "cannot be written. Check the folder"));
  }
  // Nothing is left beside it.
  for (const auto& entry : std::filesystem::directory_iterator(testing::TempDir())) {
    EXPECT_NE(entry.path().extension(), ".part");
  }
}

}  // namespace
}  // namespace tta::detector

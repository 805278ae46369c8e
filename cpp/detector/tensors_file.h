// SPDX-License-Identifier: BSD-3-Clause
// detector/tensors_file.h: reads and writes safetensors, and trusts no byte of them.
//
// A file is 8 bytes of length, a header in JSON, and data. Only float32 and int64,
// little endian, are supported, which is all that weights use here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "detector/tensors_header.h"

namespace tta::detector {

enum class Dtype : std::uint8_t { kFloat32, kInt64 };

/// A tensor's bytes, in the memory of who made it.
struct TensorView {
  std::string name;
  Dtype dtype = Dtype::kFloat32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> data;
};

/// What a file is made of, or a part of that.
struct TensorParts {
  std::map<std::string, std::string> metadata;
  std::vector<TensorView> tensors;
};

/// A header of more bytes, or a file of more, is refused before it is read.
inline constexpr std::uint64_t kMostHeaderBytes = 1u << 20;
inline constexpr std::uint64_t kMostFileBytes = 1u << 30;

/// A file in memory. Moving keeps the views.
struct TensorsFile {
  std::string path;
  std::map<std::string, std::string> metadata;
  std::vector<TensorView> tensors;  ///< By place in the file; names differ.
  std::vector<std::byte> bytes;

  TensorsFile() = default;
  TensorsFile(TensorsFile&&) = default;
  TensorsFile& operator=(TensorsFile&&) = default;

  /// Returns the metadata of a key. Throws WeightsError if there are none.
  const std::string& about(const std::string& key) const;
};

/// Reads a file from memory; `path` is for messages. Each byte of the data belongs to
/// exactly one tensor, of as many bytes as its shape takes. Throws WeightsError.
TensorsFile parse_tensors(std::vector<std::byte> bytes, std::string path);

/// The same from the disk.
TensorsFile read_tensors(const std::string& path);

/// Writes a file whole or not at all: beside it, then in its place. Throws WeightsError
/// if it cannot be written.
void write_tensors(const std::string& path, std::map<std::string, std::string> metadata,
                   std::span<const TensorView> tensors);

}  // namespace tta::detector

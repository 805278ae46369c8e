// SPDX-License-Identifier: BSD-3-Clause
// detector/tensors_file.cpp: lengths and offsets are compared before they are used.
#include "detector/tensors_file.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <optional>
#include <system_error>
#include <utility>

namespace tta::detector {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::uint64_t kLengthBytes = 8;
constexpr const char* kDamaged =
    "The file is damaged or not a file of weights: copy it again.";

[[noreturn]] void refuse(const std::string& path, const std::string& what,
                         const std::string& hint = kDamaged) {
  throw WeightsError(path + ": " + what + ". " + hint);
}

struct DtypeInfo {
  std::string_view name;
  std::uint64_t bytes;
};
constexpr DtypeInfo kDtypes[] = {{"F32", 4}, {"I64", 8}};

std::optional<Dtype> dtype_of(std::string_view name) {
  for (const auto dtype : {Dtype::kFloat32, Dtype::kInt64}) {
    if (kDtypes[static_cast<std::size_t>(dtype)].name == name) return dtype;
  }
  return std::nullopt;
}

// Bytes that a shape takes; nothing if that is more than any file has.
std::optional<std::uint64_t> bytes_of(const std::vector<std::int64_t>& shape,
                                      Dtype dtype) {
  auto out = kDtypes[static_cast<std::size_t>(dtype)].bytes;
  for (const auto size : shape) {
    const auto factor = static_cast<std::uint64_t>(size);
    if (factor != 0 && out > kMostFileBytes / factor) return std::nullopt;
    out *= factor;
  }
  return out;
}

std::string range_of(const HeaderEntry& entry) {
  return std::to_string(entry.begin) + " to " + std::to_string(entry.end);
}

// The header's entry for a tensor, checked against `data`.
TensorView view_of(const HeaderEntry& entry, std::span<const std::byte> data,
                   const std::string& path) {
  const auto fail = [&](const std::string& what) {
    refuse(path, "the tensor " + shown(entry.name) + " " + what);
  };
  const auto dtype = dtype_of(entry.dtype);
  if (!dtype) {
    refuse(path, "the tensor " + shown(entry.name) + " is neither F32 nor I64",
           "Weights are kept in these two: convert it.");
  }
  if (entry.begin > entry.end || entry.end > data.size()) {
    fail("lies at bytes " + range_of(entry) + " of " + std::to_string(data.size()));
  }
  const auto bytes = bytes_of(entry.shape, *dtype);
  if (!bytes || *bytes != entry.end - entry.begin) {
    fail("has bytes " + range_of(entry) + ", and its shape takes " +
         (bytes ? std::to_string(*bytes) : "more than a file may have"));
  }
  return {entry.name, *dtype, entry.shape,
          data.subspan(entry.begin, entry.end - entry.begin)};
}

void add_tensors(std::vector<HeaderEntry> entries, std::span<const std::byte> data,
                 TensorsFile& out) {
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::uint64_t covered = 0;
  for (const auto& entry : entries) {
    out.tensors.push_back(view_of(entry, data, out.path));
    if (entry.begin != covered) {
      refuse(out.path, std::string(entry.begin < covered ? "tensors overlap"
                                                         : "no tensor has the bytes") +
                           " before byte " +
                           std::to_string(std::max(entry.begin, covered)) +
                           " of the data");
    }
    covered = entry.end;
  }
  if (covered != data.size()) {
    refuse(out.path, "after the last tensor come " +
                         std::to_string(data.size() - covered) + " bytes");
  }
}

}  // namespace

const std::string& TensorsFile::about(const std::string& key) const {
  const auto found = metadata.find(key);
  if (found == metadata.end()) {
    refuse(path, "its metadata lack \"" + key + "\"",
           "It was not written by torchtraceap: use a file that was.");
  }
  return found->second;
}

namespace {

// Length of the header, of a file whose beginning this is.
std::uint64_t header_length(std::span<const std::byte> bytes, std::uint64_t size,
                            const std::string& path) {
  if (bytes.size() < kLengthBytes) {
    refuse(path, "has " + std::to_string(bytes.size()) + " bytes");
  }
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  if (length > kMostHeaderBytes || length > size - kLengthBytes) {
    refuse(path, "its header claims " + std::to_string(length) +
                     " bytes, of a file of " + std::to_string(size) +
                     " and of at most " + std::to_string(kMostHeaderBytes));
  }
  return length;
}

// The header behind its length.
Header header_of(std::span<const std::byte> begin, const std::string& path) {
  const auto text = begin.subspan(kLengthBytes);
  try {
    return parse_header({reinterpret_cast<const char*>(text.data()), text.size()});
  } catch (const WeightsError& error) {
    refuse(path, error.what());
  }
}

}  // namespace

TensorsFile parse_tensors(std::vector<std::byte> bytes, std::string path) {
  TensorsFile out;
  out.path = std::move(path);
  out.bytes = std::move(bytes);
  const auto all = std::span<const std::byte>(out.bytes);
  const auto end = kLengthBytes + header_length(all, all.size(), out.path);
  Header header = header_of(all.first(end), out.path);
  out.metadata = std::move(header.metadata);
  add_tensors(std::move(header.entries), all.subspan(end), out);
  return out;
}

TensorsFile read_tensors(const std::string& path) {
  // A pipe would be waited for.
  std::error_code none;
  const auto kind = std::filesystem::status(path, none).type();
  using std::filesystem::file_type;
  if (kind == file_type::fifo || kind == file_type::character ||
      kind == file_type::block || kind == file_type::socket) {
    refuse(path, "is not a regular file", "Give a file of weights.");
  }
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  const auto end = in ? static_cast<std::streamoff>(in.tellg()) : -1;
  if (end < 0) refuse(path, "cannot be read", "Check the path.");
  if (static_cast<std::uint64_t>(end) > kMostFileBytes) {
    refuse(path, "has " + std::to_string(end) + " bytes, too many for weights");
  }
  const auto size = static_cast<std::size_t>(end);
  std::vector<std::byte> bytes;
  in.seekg(0);
  const auto read_until = [&](std::size_t upto) {
    const auto first = bytes.size();
    bytes.resize(upto);
    in.read(reinterpret_cast<char*>(bytes.data() + first),
            static_cast<std::streamsize>(upto - first));
    if (!in) refuse(path, "cannot be read to its end", "Check the disk.");
  };
  // The header first: most files that are not weights end here, however large.
  read_until(std::min<std::size_t>(size, kLengthBytes));
  read_until(kLengthBytes + header_length(bytes, size, path));
  header_of(bytes, path);
  read_until(size);
  return parse_tensors(std::move(bytes), path);
}

void write_tensors(const std::string& path, std::map<std::string, std::string> metadata,
                   std::span<const TensorView> tensors) {
  Header header;
  header.metadata = std::move(metadata);
  std::uint64_t at = 0;
  for (const auto& tensor : tensors) {
    const auto& dtype = kDtypes[static_cast<std::size_t>(tensor.dtype)];
    header.entries.push_back({tensor.name, std::string(dtype.name), tensor.shape, at,
                              at + tensor.data.size()});
    at += tensor.data.size();
  }
  const auto text = write_header(header);
  const std::uint64_t length = text.size();
  const auto beside = path + "." + std::to_string(::getpid()) + ".part";
  {
    std::ofstream out(beside, std::ios::binary);
    out.write(reinterpret_cast<const char*>(&length), kLengthBytes);
    out.write(text.data(), static_cast<std::streamsize>(text.size()));
    for (const auto& tensor : tensors) {
      out.write(reinterpret_cast<const char*>(tensor.data.data()),
                static_cast<std::streamsize>(tensor.data.size()));
    }
    if (out.flush()) {
      out.close();
      if (out && std::rename(beside.c_str(), path.c_str()) == 0) return;
    }
  }
  std::remove(beside.c_str());
  refuse(path, "cannot be written", "Check the folder and the space on the disk.");
}

}  // namespace tta::detector

// SPDX-License-Identifier: BSD-3-Clause
// detector/files.h: files that tests write, and what is in them.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

namespace tta::detector {

inline std::string path_of(const std::string& name) {
  return testing::TempDir() + name;
}

inline std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace tta::detector

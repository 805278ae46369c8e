// SPDX-License-Identifier: BSD-3-Clause
// write/output.cpp: traces into files.
#include "write/output.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>

namespace tta::write {
namespace {

[[noreturn]] void refuse(const std::string& path, const char* why) {
  throw std::invalid_argument(
      path + ": cannot be written: " + why +
      ". Choose a file in an existing, writable folder with free "
      "space");
}

}  // namespace

void write_file(const std::string& path,
                const std::function<void(std::ostream&)>& write) {
  if (path.ends_with(".gz")) {
    throw std::invalid_argument(path +
                                ": written as plain text; choose a name "
                                "without .gz and compress it afterwards");
  }
  std::ofstream file;
  try {
    file.exceptions(std::ios::failbit | std::ios::badbit);
    file.open(path, std::ios::binary | std::ios::trunc);
    write(file);
    file.close();
  } catch (const std::ios_base::failure&) {
    refuse(path, std::strerror(errno));
  }
}

}  // namespace tta::write

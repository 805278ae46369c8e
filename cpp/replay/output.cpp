// SPDX-License-Identifier: BSD-3-Clause
// replay/output.cpp: refuses before anything is written.
#include "replay/output.h"

#include <stdexcept>

namespace tta::replay {

std::ofstream open_output(const std::string& path) {
  if (path.ends_with(".gz")) {
    throw std::invalid_argument(path + ": written as plain text; choose a name "
                                       "without .gz and compress it afterwards");
  }
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  if (!file) throw std::invalid_argument(path + ": cannot be written");
  file.exceptions(std::ios::failbit | std::ios::badbit);
  return file;
}

}  // namespace tta::replay

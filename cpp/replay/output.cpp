// SPDX-License-Identifier: BSD-3-Clause
// replay/output.cpp: traces into files; refuses before anything is written.
#include "replay/output.h"

#include <stdexcept>

#include "replay/write_trace.h"

namespace tta::replay {

std::ofstream open_output(const std::string& path) {
  if (path.ends_with(".gz")) {
    throw std::invalid_argument(path +
                                ": written as plain text; choose a name "
                                "without .gz and compress it afterwards");
  }
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  if (!file) throw std::invalid_argument(path + ": cannot be written");
  file.exceptions(std::ios::failbit | std::ios::badbit);
  return file;
}

void write_program(const Program& program, const Schedule& schedule,
                   const std::string& path, std::uint32_t rank) {
  auto file = open_output(path);
  write_program(program, schedule, file, rank);
  file.close();
}

void write_what_if(const Model& model, std::span<const std::int64_t> times,
                   const std::string& note, const std::string& path) {
  auto file = open_output(path);
  write_what_if(model, times, note, file);
  file.close();
}

}  // namespace tta::replay

// SPDX-License-Identifier: BSD-3-Clause
// replay/output.cpp: traces into files: beside the place, then into it.
#include "replay/output.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "replay/write_trace.h"

namespace tta::replay {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& path, const char* why) {
  throw std::invalid_argument(path + ": cannot be written: " + why +
                              ". Choose a file in a folder that exists, may be written "
                              "to and has room");
}

}  // namespace

void write_file(const std::string& path,
                const std::function<void(std::ostream&)>& write) {
  if (path.ends_with(".gz")) {
    throw std::invalid_argument(path +
                                ": written as plain text; choose a name "
                                "without .gz and compress it afterwards");
  }
  std::error_code ignored;
  // A device or pipe has no place beside it that could be moved into it.
  const bool beside = !fs::exists(path, ignored) || fs::is_regular_file(path, ignored);
  const auto target = beside ? path + ".part" : path;
  std::ofstream file(target, std::ios::binary | std::ios::trunc);
  if (!file) refuse(path, std::strerror(errno));
  try {
    file.exceptions(std::ios::failbit | std::ios::badbit);
    write(file);
    file.close();
  } catch (const std::ios_base::failure&) {
    const int reason = errno;
    if (beside) fs::remove(target, ignored);
    refuse(path, std::strerror(reason));
  } catch (...) {
    if (beside) fs::remove(target, ignored);
    throw;
  }
  std::error_code failed;
  if (beside) fs::rename(target, path, failed);
  if (failed) refuse(path, failed.message().c_str());
}

void write_program(const Program& program, const Schedule& schedule,
                   const std::string& path, std::uint32_t rank) {
  write_file(path,
             [&](std::ostream& out) { write_program(program, schedule, out, rank); });
}

void write_what_if(const Model& model, std::span<const std::int64_t> times,
                   const std::string& note, const std::string& path,
                   std::span<const std::uint32_t> left_out) {
  write_file(path, [&](std::ostream& out) {
    write_what_if(model, times, note, out, left_out);
  });
}

}  // namespace tta::replay

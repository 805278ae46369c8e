// SPDX-License-Identifier: BSD-3-Clause
// write/output.cpp: traces into files: beside the place, then into it.
#include "write/output.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace tta::write {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& path, const char* why) {
  throw std::invalid_argument(
      path + ": cannot be written: " + why +
      ". Choose a file in an existing, writable folder with free "
      "space");
}

// The file that a path means: its own, or the one that a link leads to.
fs::path meant_by(const std::string& path) {
  std::error_code ignored;
  if (fs::exists(path, ignored)) {
    const auto real = fs::canonical(path, ignored);
    return ignored ? fs::path(path) : real;
  }
  if (fs::is_symlink(fs::symlink_status(path, ignored))) {
    refuse(path, "it is a broken link");
  }
  return path;
}

// An empty file beside one that is to be written, and with its permissions if it is
// there: what is private stays so.
fs::path make_part(const std::string& path, const fs::path& place) {
  std::error_code ignored;
  const auto old = fs::status(place, ignored);
  const auto writers =
      fs::perms::owner_write | fs::perms::group_write | fs::perms::others_write;
  if (fs::exists(old)) {
    // Its folder would let it be replaced all the same, and so would root.
    if ((old.permissions() & writers) == fs::perms::none)
      refuse(path, "it is read-only");
    if (!std::ofstream(place, std::ios::app)) refuse(path, std::strerror(errno));
  }
  // Named as in target_file.py: unique, even if others write here at the same time.
  fs::path part;
  std::FILE* made = nullptr;
  for (unsigned number = 0; made == nullptr; ++number) {
    part = place.parent_path() /
           (".torchtraceap-" + std::to_string(getpid()) + "-" + std::to_string(number));
    made = std::fopen(part.c_str(), "wbx");
    if (made == nullptr && errno != EEXIST) refuse(path, std::strerror(errno));
  }
  std::fclose(made);
  if (fs::exists(old)) fs::permissions(part, old.permissions(), ignored);
  return part;
}

// Tells whether a path is what a process has open: it would stay open on the old file.
bool is_open_file(const std::string& path) {
  return path.starts_with("/dev/std") || path.starts_with("/dev/fd/") ||
         path.starts_with("/proc/");
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
  const auto place = is_open_file(path) ? fs::path(path) : meant_by(path);
  // A device or pipe has no place beside it that could be moved into it.
  const bool beside = !is_open_file(path) && (!fs::exists(place, ignored) ||
                                              fs::is_regular_file(place, ignored));
  const auto target = beside ? make_part(path, place) : place;
  std::ofstream file;
  try {
    file.exceptions(std::ios::failbit | std::ios::badbit);
    file.open(target, std::ios::binary | std::ios::trunc);
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
  if (beside) fs::rename(target, place, failed);
  if (!failed) return;
  fs::remove(target, ignored);
  refuse(path, failed.message().c_str());
}

}  // namespace tta::write

// SPDX-License-Identifier: BSD-3-Clause
// detector/tables_file.cpp: the format of files of weights, and their tables.
#include "detector/tables_file.h"

#include <stdexcept>

namespace tta::detector {
namespace {

constexpr const char* kFormat = "torchtraceap detector 2";
constexpr const char* kWithoutNames = "torchtraceap detector 1";
const std::string kTables = "tables.";

[[noreturn]] void refuse_tables(
    const TensorsFile& file, const std::string& what,
    const std::string& hint = "Use weights of this version, or train anew.") {
  throw WeightsError(file.path + ": " + what + ". " + hint);
}

}  // namespace

void name_tables(const Tables& tables, std::map<std::string, std::string>& metadata) {
  metadata["format"] = kFormat;
  for (auto& [name, table] : to_text(tables)) metadata[kTables + name] = table;
}

Tables read_tables(const TensorsFile& file) {
  const auto& format = file.about("format");
  if (format == kWithoutNames) {
    refuse_tables(
        file, "it does not name its columns",
        "Train anew, or, if it was trained on the columns of this version, run "
        "python -m torchtraceap_train.relabel on it.");
  }
  if (format != kFormat) {
    refuse_tables(file, "its format is " + shown(format) + ", not " + kFormat);
  }
  std::map<std::string, std::string> text;
  for (const auto& [key, value] : file.metadata) {
    if (key.starts_with(kTables)) text[key.substr(kTables.size())] = value;
  }
  try {
    return tables_from_text(text);
  } catch (const std::invalid_argument& error) {
    refuse_tables(file, "its table of " + shown(error.what()));
  }
}

Matching match(const TensorsFile& file, const Tables& ours, const Tables& theirs) {
  try {
    return match(ours, theirs);
  } catch (const std::invalid_argument& error) {
    refuse_tables(file, error.what());
  }
}

void relabel(const std::string& from, const std::string& to, const Tables& tables) {
  auto file = read_tensors(from);
  for (const auto* old : {"features", "patterns"}) file.metadata.erase(old);
  name_tables(tables, file.metadata);
  write_tensors(to, std::move(file.metadata), file.tensors);
}

}  // namespace tta::detector

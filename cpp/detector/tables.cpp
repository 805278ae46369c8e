// SPDX-License-Identifier: BSD-3-Clause
// detector/tables.cpp: the tables of this version, as text, and matched with others.
#include "detector/tables.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <sstream>
#include <stdexcept>
#include <unordered_map>

#include "detector/columns.h"
#include "features/feature_table.h"
#include "patterns/pattern.h"

namespace tta::detector {

namespace {

constexpr const char* kFormat = "torchtraceap detector 2";
constexpr const char* kWithoutNames = "torchtraceap detector 1";
const std::string kTables = "tables.";

[[noreturn]] void refuse_tables(
    const TensorsFile& file, const std::string& what,
    const std::string& hint = "Use weights of this version, or train again.") {
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
        "Train again or, if it was trained on the columns of this version, run "
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

namespace {

constexpr std::string_view kCause = "cause_";
constexpr const char* kSideNames[] = {"cpu", "gpu"};
// Names that a table of a file may have: each takes memory, before anything is matched.
constexpr std::size_t kMostNames = 4096;
constexpr std::int32_t kNone = -1;

std::size_t side_of(std::string_view name) {
  for (const auto& pattern : patterns::patterns()) {
    if (pattern.name == name) return pattern.side == patterns::PatternSide::kGpu;
  }
  throw std::logic_error("a column of no pattern: " + std::string(name));
}

Tables tables_of(const features::Definition& definition) {
  Tables out;
  for (const auto& column : definition.windows) {
    if (column.name.starts_with(kCause)) {
      const auto name = column.name.substr(kCause.size());
      out.patterns.push_back({{std::string(name), column.version}, side_of(name)});
    } else {
      out.statistics.push_back({std::string(column.name), column.version});
    }
  }
  for (const auto& column : definition.tokens) {
    auto& table = is_figure(column.unit) ? out.figures : out.roles;
    table.push_back({std::string(column.name), column.version});
  }
  for (const auto& kind : definition.kinds) {
    out.kinds.push_back(
        {{std::string(kind.name), kind.version}, std::string(kind.general)});
  }
  return out;
}

// --- Text: "name:version" for each, "name:version:side" for patterns
// -------------------

std::string text_of(const Named& entry) {
  return entry.name + ":" + std::to_string(entry.version);
}
std::string text_of(const NamedPattern& entry) {
  return text_of(static_cast<const Named&>(entry)) + ":" + kSideNames[entry.side];
}

template <typename T>
std::string text_of(const std::vector<T>& table) {
  std::string out;
  for (const auto& entry : table) out += (out.empty() ? "" : " ") + text_of(entry);
  return out;
}

// Takes what follows the last colon off a word.
std::string_view take_last(std::string_view& word) {
  const auto at = word.rfind(':');
  if (at == word.npos) return {};
  const auto out = word.substr(at + 1);
  word = word.substr(0, at);
  return out;
}

bool read_entry(std::string_view word, Named& out) {
  const auto version = take_last(word);
  const auto* const end = version.data() + version.size();
  const auto read = std::from_chars(version.data(), end, out.version);
  out.name = word;
  return !word.empty() && read.ec == std::errc() && read.ptr == end && out.version > 0;
}
bool read_entry(std::string_view word, NamedPattern& out) {
  const auto side = take_last(word);
  out.side = side == kSideNames[1];
  return side == kSideNames[out.side] && read_entry(word, static_cast<Named&>(out));
}

template <typename T>
void read_table(const std::map<std::string, std::string>& text, const char* key,
                std::vector<T>& table) {
  const auto wrong = [&](const std::string& what) {
    throw std::invalid_argument(std::string(key) + " " + what);
  };
  const auto found = text.find(key);
  if (found == text.end()) wrong("is missing");
  std::istringstream words(found->second);
  std::set<std::string> names;
  for (std::string word; words >> word;) {
    if (table.size() == kMostNames) {
      wrong("has more than " + std::to_string(kMostNames) + " names");
    }
    if (!read_entry(word, table.emplace_back())) wrong("has no such name as " + word);
    if (!names.insert(table.back().name).second) wrong("has " + word + " twice");
  }
}

// --- Matching
// --------------------------------------------------------------------------

// Where entries of one table are, by name, if they are of the same version.
template <typename T>
class Places {
 public:
  explicit Places(const std::vector<T>& table) : table_(table) {
    for (std::size_t i = 0; i < table.size(); ++i) {
      places_.emplace(table[i].name, static_cast<std::int32_t>(i));
    }
  }
  std::int32_t of(std::string_view name) const {
    const auto found = places_.find(name);
    return found == places_.end() ? kNone : found->second;
  }
  std::int32_t of(const Named& entry) const {
    const auto at = of(entry.name);
    if (at == kNone) return kNone;
    return table_[static_cast<std::size_t>(at)].version == entry.version ? at : kNone;
  }

 private:
  const std::vector<T>& table_;
  std::unordered_map<std::string_view, std::int32_t> places_;
};

// Of each of theirs its place in ours. Refused if we have fewer than `least` of them.
template <typename T>
std::vector<std::int32_t> places_of(const std::vector<T>& theirs,
                                    const std::vector<T>& ours, std::size_t least,
                                    const char* what) {
  const Places places(ours);
  std::vector<std::int32_t> out;
  std::size_t shared = 0;
  for (const auto& entry : theirs) {
    out.push_back(places.of(entry));
    shared += out.back() != kNone;
  }
  if (shared < least) {
    throw std::invalid_argument("of the " + std::to_string(theirs.size()) + " " + what +
                                " that it was trained on, this version has " +
                                std::to_string(shared) + ", of at least " +
                                std::to_string(least));
  }
  return out;
}

template <typename T>
std::size_t half(const std::vector<T>& table) {
  return std::max<std::size_t>(1, (table.size() + 1) / 2);
}

void add_rows(std::span<const float> rows, std::size_t columns,
              std::span<const std::int32_t> places, std::span<const float> usual,
              std::vector<float>& out) {
  if (places.empty()) {
    out.insert(out.end(), rows.begin(), rows.end());
    return;
  }
  for (std::size_t row = 0; row < rows.size(); row += columns) {
    for (std::size_t i = 0; i < places.size(); ++i) {
      out.push_back(places[i] == kNone
                        ? usual[i]
                        : rows[row + static_cast<std::size_t>(places[i])]);
    }
  }
}

}  // namespace

const Tables& own_tables() {
  static const auto kTables = tables_of(features::definition());
  return kTables;
}

std::map<std::string, std::string> to_text(const Tables& t) {
  std::map<std::string, std::string> out = {{"statistics", text_of(t.statistics)},
                                            {"patterns", text_of(t.patterns)},
                                            {"figures", text_of(t.figures)},
                                            {"roles", text_of(t.roles)}};
  out["kinds"] = text_of(t.kinds);
  return out;
}

Tables tables_from_text(const std::map<std::string, std::string>& text) {
  Tables out;
  read_table(text, "statistics", out.statistics);
  read_table(text, "patterns", out.patterns);
  read_table(text, "figures", out.figures);
  read_table(text, "roles", out.roles);
  read_table(text, "kinds", out.kinds);
  return out;
}

Matching match(const Tables& ours, const Tables& theirs) {
  Matching out;
  out.given_columns = ours.window_columns();
  out.given_patterns = ours.patterns.size();
  if (ours == theirs) return out;
  out.windows = places_of(theirs.statistics, ours.statistics, half(theirs.statistics),
                          "statistics");
  out.patterns =
      places_of(theirs.patterns, ours.patterns, half(theirs.patterns), "patterns");
  out.figures =
      places_of(theirs.figures, ours.figures, half(theirs.figures), "figures");
  places_of(theirs.roles, ours.roles, theirs.roles.size(), "roles of tokens");
  places_of(theirs.kinds, ours.kinds, half(theirs.kinds), "kinds of events");
  const auto causes = static_cast<std::int32_t>(ours.statistics.size());
  for (const auto at : out.patterns)
    out.windows.push_back(at < 0 ? kNone : causes + at);
  const Places kinds(theirs.kinds);
  for (const auto& kind : ours.kinds) {
    auto at = kinds.of(kind);
    for (const auto& other : {kind.general, std::string("other")}) {
      if (at == kNone) at = kinds.of(other);
    }
    if (at == kNone) throw std::invalid_argument("it has no kind \"other\"");
    out.kinds.push_back(at);
  }
  out.usual_windows.resize(out.windows.size());
  out.usual_figures.resize(out.figures.size());
  return out;
}

void Matching::add_windows(std::span<const float> rows, std::vector<float>& out) const {
  add_rows(rows, given_columns, windows, usual_windows, out);
}

void Matching::add_figures(std::span<const float> rows, std::size_t columns,
                           std::vector<float>& out) const {
  add_rows(rows, columns, figures, usual_figures, out);
}

}  // namespace tta::detector

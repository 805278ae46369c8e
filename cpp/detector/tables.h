// SPDX-License-Identifier: BSD-3-Clause
// detector/tables.h: what a model reads and names, each by a name and a version, and
// how the arrays of one version are read by a model of another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "detector/tensors_file.h"

namespace tta::detector {

/// A column. One of another version has other values under the same name, and counts as
/// another.
struct Named {
  std::string name;
  int version = 1;
  bool operator==(const Named&) const = default;
};

/// A kind of event.
struct NamedKind : Named {
  /// The kind that stands in for this one in a model that does not know it. Not kept in
  /// files.
  std::string general = "other";
  bool operator==(const NamedKind& other) const { return Named::operator==(other); }
};

/// A pattern: a window column by cause and an output.
struct NamedPattern : Named {
  std::size_t side = 0;  ///< Whose code has to change: 0 the CPU's, 1 the GPU's.
  bool operator==(const NamedPattern&) const = default;
};

struct Tables {
  std::vector<Named> statistics;       ///< The window columns but those by cause.
  std::vector<NamedPattern> patterns;  ///< The window columns by cause follow them.
  std::vector<Named> figures;          ///< The token columns that are read as numbers.
  std::vector<Named> roles;            ///< The others: kind, words, lanes, edges.
  std::vector<NamedKind> kinds;
  bool operator==(const Tables&) const = default;

  std::size_t window_columns() const { return statistics.size() + patterns.size(); }
  /// How many values the network and the trees give a window: any CPU, any GPU, each of
  /// the patterns, recoverable.
  std::size_t outputs() const { return 2 + patterns.size() + 1; }
};

/// Those of this version: features::definition() with the sides of patterns.
const Tables& own_tables();

/// As strings, for the metadata of a file, and back. The latter throws
/// std::invalid_argument, naming what, for a table that is missing, too long, or has a
/// name twice.
std::map<std::string, std::string> to_text(const Tables& tables);
Tables tables_from_text(const std::map<std::string, std::string>& text);

/// How arrays of `ours` are read by a model of `theirs`. Columns that the model does
/// not know are ignored; those that it knows and the arrays lack have a default, which
/// was learned. An empty list of places: all as it is.
struct Matching {
  std::size_t given_columns = 0, given_patterns = 0;  ///< Of rows and labels of ours.
  /// For each column, figure and pattern of the model: its place in ours; -1: we do not
  /// have it.
  std::vector<std::int32_t> windows, figures, patterns;
  std::vector<std::int32_t> kinds;  ///< For each kind of ours, the model's.
  std::vector<float> usual_windows, usual_figures;  ///< The defaults.

  /// Append rows of windows, or of figures, as the model reads them. Linear.
  void add_windows(std::span<const float> rows, std::vector<float>& out) const;
  void add_figures(std::span<const float> rows, std::size_t columns,
                   std::vector<float>& out) const;
};

/// Matches tables by name and version. A kind that the model does not know becomes the
/// general one of its sort, or "other". The defaults are 0 until they are set.
///
/// Throws std::invalid_argument, saying what, if too little is shared: fewer than half
/// of the model's statistics, patterns, figures or kinds, not all of its roles, or no
/// general kind.
Matching match(const Tables& ours, const Tables& theirs);

// The tables that a file of weights was trained on, in its metadata. Knows no torch.

/// Sets the format of a file of weights and its tables in metadata.
void name_tables(const Tables& tables, std::map<std::string, std::string>& metadata);

/// Reads them back. Throws WeightsError if the format is another one, or a table is
/// missing or none.
Tables read_tables(const TensorsFile& file);

/// As match(), of what a file holds; throws WeightsError.
Matching match(const TensorsFile& file, const Tables& ours, const Tables& theirs);

/// Copies a file with the tables given in place of its own; numbers stay as they are.
/// Whether they fit is seen when it is loaded. Throws WeightsError.
void relabel(const std::string& from, const std::string& to, const Tables& tables);

}  // namespace tta::detector

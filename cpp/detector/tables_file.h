// SPDX-License-Identifier: BSD-3-Clause
// detector/tables_file.h: the tables that a file of weights was trained on, in its
// metadata. Knows no torch.
#pragma once

#include <map>
#include <string>

#include "detector/tables.h"
#include "detector/tensors_file.h"

namespace tta::detector {

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

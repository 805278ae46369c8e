// SPDX-License-Identifier: BSD-3-Clause
// pipeline/accounting/finding_id.h: names for findings that hold from one trace to the
// next.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "patterns/finding.h"
#include "patterns/pattern_table.h"

namespace tta::pipeline {

/// Gives each finding its id: its pattern and eight digits derived from sub-type and
/// line or, if the line is unknown, operator; a duplicate gets "-2".
///
/// Baselines, budgets and the fingerprints of SARIF hold such ids: they must not
/// change.
void name_findings(std::span<patterns::Finding> findings,
                   const patterns::PatternTable& patterns);

/// Returns the id of a finding of no pattern: `name`, and eight digits for its line or,
/// where no frame is known, its operator; unlike those in `taken`, which it joins.
std::string id_of_place(std::string_view name,
                        const std::optional<timeline::Frame>& frame,
                        std::string_view operator_name, std::set<std::string>& taken);

/// Returns the SHA-256 of some bytes, in small hexadecimal digits.
std::string sha256(std::string_view bytes);

}  // namespace tta::pipeline

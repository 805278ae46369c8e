// SPDX-License-Identifier: BSD-3-Clause
// detector/stack_file.h: a stack and its card, to and from a file of tensors, beside
// the network's. Knows no torch, and trusts no byte.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "detector/stack.h"
#include "detector/tensors_file.h"

namespace tta::detector {

/// What is to be known of a model, in free text: its name, commit, seed.
using Card = std::map<std::string, std::string>;

/// Bytes of a card at most, names included: a file could not hold any.
inline constexpr std::size_t kMostCardBytes = 1u << 16;

/// Throws std::invalid_argument if it is longer, has a name without letters, or is not
/// UTF-8.
void check(const Card& card);

/// Returns whether a file's tensor of this name is one of a stack.
bool is_of_stack(std::string_view name);

/// What a file is to hold of both. Views: the stack stays where it is.
TensorParts parts_of(const Stack& stack, const Card& card);

/// Reads both, each part as a whole: one that the file has nothing of is as by default.
/// Tensors that are of no stack are passed over. Throws WeightsError if a tensor is
/// missing, of another type or shape, or holds what the checks refuse.
Stack read_stack(const TensorsFile& file, const Tables& tables = own_tables());
/// Reads the part of it that knows windows.
Known read_known(const TensorsFile& file, const Tables& tables);
Card read_card(const TensorsFile& file);

}  // namespace tta::detector

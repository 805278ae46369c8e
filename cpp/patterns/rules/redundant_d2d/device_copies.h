// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/redundant_d2d/device_copies.h: the copies inside one device, and what
// each is for.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "patterns/rule.h"

namespace tta::patterns {

/// In the order of redundant_d2d's sub-types.
enum class DeviceCopy : std::uint8_t {
  kCast,    ///< Source and destination have different types.
  kLayout,  ///< ... the same type, but different strides.
  kCopy,    ///< ... the same of both.
  /// Into or out of the fixed addresses of a captured graph: made by the operator that
  /// launches the graph.
  kGraphBuffers,
};

struct FoundCopy {
  DeviceCopy kind = DeviceCopy::kCopy;
  std::uint32_t evidence = 0;  ///< The row itself; the operator that runs the graph.
};

/// Tells them from other work. Refers to the context.
class DeviceCopies {
 public:
  /// Linear in the distinct names, the launch calls and the depth of each.
  explicit DeviceCopies(const Context& context);

  /// Tells what a row of device work copies inside its device; none if it is another
  /// kind of work, part of another operator (repeat) or of a collective, or if neither
  /// inputs nor the kernel's name tell. The transposes of memory format that libraries
  /// run inside a convolution are such, by their names. Climbs at most
  /// timeline::kMaxDepth.
  std::optional<FoundCopy> of(std::uint32_t row) const;

 private:
  std::uint32_t graph_call(std::uint32_t owner) const;

  const Context& context_;
  std::vector<char> runs_graph_;      // of each row; empty without graphs
  std::vector<char> changes_format_;  // of each name
};

/// Tells the kind by the first two inputs of copy_, destination and source; none if
/// their types are unknown.
std::optional<DeviceCopy> kind_by_inputs(const timeline::OpArgs* op);

}  // namespace tta::patterns

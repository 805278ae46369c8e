// SPDX-License-Identifier: BSD-3-Clause
// robust/seeds.h: the documents that mutations start from.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tta::robust {

/// Documents of about 1 KB: real traces of tests/data cut between events, and
/// written ones in Kineto's and in compact layout with what loaders stumble on.
std::vector<std::string> small_seeds();

/// Real traces cut between events at about 40 KB.
std::vector<std::string> large_seeds();

/// The trace of which every prefix is loaded: the first of large_seeds().
std::string prefix_seed();

/// Reads and inflates tests/data/NAME.
std::string read_sample(const std::string& name);

/// Cuts a Kineto text to whole events of about `bytes` and closes it.
std::string cut_between_events(std::string_view text, std::size_t bytes);

/// Drops white space outside strings.
std::string compact(std::string_view text);

/// Writes a trace as Perfetto's packets.
std::string packets(const std::string& text);

/// Compresses as one gzip member, fast.
std::string gzip(std::string_view text);

}  // namespace tta::robust

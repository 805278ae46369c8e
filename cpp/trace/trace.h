// SPDX-License-Identifier: BSD-3-Clause
// trace/trace.h: a profiler trace in memory: columns, names, metadata, what was odd.
//
// Everything downstream reads a Trace and nothing downstream reads a file. The raw text
// of args is most of a trace; only a few members are kept. `read_args` fetches the text
// again from the trace's source.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/args_kept.h"
#include "trace/columns.h"
#include "trace/error.h"
#include "trace/memory_args.h"
#include "trace/string_pool.h"

namespace tta::trace {

/// Something odd that was repaired, skipped or ignored, counted by kind.
struct Warning {
  std::string kind;         ///< Stable word, e.g. "missing_dur".
  std::uint64_t count = 0;  ///< How many times.
  std::string detail;       ///< A sentence with the first place it was seen.
};

/// Which events become rows. All text is read and validated whatever is kept.
struct RowFilter {
  /// Bit n keeps Category n.
  std::uint64_t categories = ~std::uint64_t{0};
  /// Keeps what meets [begin, end), in nanoseconds of the file's clock: an event with
  /// a duration by its stretch, one without by its start. Rows without a usable start
  /// are kept.
  std::int64_t begin = std::numeric_limits<std::int64_t>::min();
  std::int64_t end = std::numeric_limits<std::int64_t>::max();

  /// Tells whether a row is kept. Metadata (phase M) always is: it names threads. So
  /// are beginnings and ends (B, E) while it is unknown what they are of.
  bool keeps(char phase, std::uint8_t category, std::int64_t ts, std::int64_t dur,
             bool paired = true) const {
    if (phase == 'M' || (!paired && (phase == 'B' || phase == 'E'))) return true;
    if ((categories >> category & 1) == 0) return false;
    if (ts <= -kTimeLimit || ts >= kTimeLimit) return true;
    const bool lasts = dur > 0 && dur < kTimeLimit;
    return ts < end && (ts >= begin || (lasts && ts + dur > begin));
  }
};

/// Where the text came from, so that args can be fetched again.
class Source;

struct Trace {
  std::string path;  ///< As given; "<bytes>" for a trace from memory.
  Columns columns;
  StringPool strings;
  /// Of operators, runtime calls and device work.
  KeptArgs kept_args;
  /// Of "[memory]" events, in the order of the file, which is that of their offsets.
  std::vector<MemoryArgs> memory;
  /// Top-level members other than traceEvents: key and JSON value, file order. Valid
  /// JSON as in read_args().
  std::vector<std::pair<std::string, std::string>> metadata;
  std::vector<Warning> warnings;
  std::uint64_t text_bytes = 0;  ///< Length of the uncompressed JSON text.
  /// Offset in it of the ']' that closes traceEvents; 0 if there is none.
  std::uint64_t events_end = 0;
  /// Sound events that LoadOptions::keep left out; they are not rows.
  std::uint64_t left_out = 0;
  RowFilter kept;  ///< LoadOptions::keep: what the rows are a part of.
  std::shared_ptr<const Source> source;

  std::string_view name(std::uint32_t row) const {
    return strings.view(columns.name[row]);
  }
  /// Returns the raw JSON of a top-level key, empty if there is none.
  std::string_view metadata_json(std::string_view key) const;

  /// Returns the JSON text of the args of each row as it stands in the file, "" for a
  /// row without args. It is valid JSON: values read as missing (NaN, 007) are null,
  /// and bytes that are not UTF-8 are U+FFFD.
  ///
  /// Costs one pass over the file (a gzip stream is inflated again from its start,
  /// up to the last row asked for), so ask for many rows at once. Safe from several
  /// threads. Throws TraceError of kind "changed" if the file is no longer what was
  /// loaded, FileNotFound if it is gone.
  std::vector<std::string> read_args(std::span<const std::uint32_t> rows) const;

  /// The same one by one, in file order: calls `visit(index into rows, text)` for each
  /// row with args, so that many rows take no more memory than one.
  void visit_args(
      std::span<const std::uint32_t> rows,
      const std::function<void(std::size_t, std::string_view)>& visit) const;

  /// Writes a pid or tid as the file had it.
  std::string identity(std::int64_t pid_or_tid) const;
};

struct LoadProgress {
  double fraction = 0;           ///< Of the stored bytes, 0 to 1.
  std::uint64_t text_bytes = 0;  ///< Read so far.
  std::uint64_t events = 0;      ///< Elements of traceEvents so far.
};

struct LoadOptions {
  /// Refuses gzip that inflates to more than this, and to more than `max_ratio` times
  /// its size (real traces shrink 10-20x; a bomb 1,000x). Traces under 64 MiB of text
  /// are exempt from the ratio.
  std::uint64_t max_text_bytes = std::uint64_t{64} << 30;
  double max_ratio = 200.0;
  /// Text handled at a time. Only speed depends on it, never the result, which is
  /// why tests set it: it moves the cuts. More is used where one event needs more.
  std::size_t window_bytes = std::size_t{256} << 10;
  /// Threads that read and parse; 0 takes those the process may run on, at most 8.
  /// Only speed depends on it, never the result.
  unsigned threads = 0;
  /// Text one thread takes at a time. As with `window_bytes`, tests set it.
  std::size_t block_bytes = std::size_t{256} << 10;
  /// Reads the sound parts of a damaged file, and counts the rest in `warnings`: events
  /// that break the grammar are skipped, a cut ends the list, bytes that are not UTF-8
  /// become U+FFFD. Limits still apply.
  bool recover = false;
  RowFilter keep;
  /// Called now and then from the thread that loads, with no lock held. An exception
  /// from it ends the load and propagates.
  std::function<void(const LoadProgress&)> progress;
};

/// Reads a trace file: JSON or gzip, told apart by content and not by name.
///
/// Takes the object form ({"traceEvents": [...], ...}, keys in any order) and the
/// list form. The text is validated as JSON, also where nothing is read from it. The
/// result has no row in doubt: what was odd but harmless is in `warnings`.
///
/// Throws FileNotFound if `path` cannot be opened; TraceError, with byte offset and
/// event number, if it is a folder, pipe or device, empty, no JSON, damaged, or no
/// trace. Its message says how many whole events precede a cut.
Trace load_file(const std::string& path, const LoadOptions& options = {});

/// Reads a trace from memory, JSON or gzip. The bytes are moved into the trace.
Trace load_bytes(std::string bytes, const LoadOptions& options = {});

}  // namespace tta::trace

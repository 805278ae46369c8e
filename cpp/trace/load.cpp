// SPDX-License-Identifier: BSD-3-Clause
// trace/load.cpp: source -> windows -> document -> columns.
#ifdef __linux__
#include <sched.h>
#endif

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "trace/beginning.h"
#include "trace/blocks.h"
#include "trace/document.h"
#include "trace/feed.h"
#include "trace/locate.h"
#include "trace/progress.h"
#include "trace/recovery.h"
#include "trace/source.h"
#include "trace/text_windows.h"

namespace tta::trace {
namespace {

unsigned thread_count(const LoadOptions& options) {
  if (options.threads > 0) return options.threads;
  // More gain little: reading and adding are done by one at a time.
  constexpr int kMost = 8;
#ifdef __linux__
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
  const int usable = CPU_COUNT(&allowed);
#else
  const int usable = static_cast<int>(std::thread::hardware_concurrency());
#endif
  return static_cast<unsigned>(std::clamp(usable, 1, kMost));
}

// Walks the text by turns: in windows on this thread, in blocks on several.
class Walk {
 public:
  Walk(Feed& feed, Document& document, const LoadOptions& options, Progress& progress)
      : feed_(feed), document_(document), options_(options), progress_(progress) {}

  /// Walks to the end. Returns the length of the text.
  std::uint64_t run(const std::string& path) {
    std::uint64_t stretch = options_.block_bytes;
    for (;;) {
      TextWindowReader windows(feed_, options_.window_bytes, offset_, options_.recover);
      if (offset_ == 0) check_beginning(windows, path);
      const bool ended = in_windows(windows, offset_ + stretch);
      document_.count_anomalies(windows);
      if (ended) return windows.text_end();
      Blocks blocks(feed_, offset_, document_, std::move(border_), options_, between_);
      blocks.run(useful_threads());
      offset_ = blocks.offset();
      // Text that refuses to be cut is walked in ever longer stretches.
      stretch = blocks.ended() ? kForever : 2 * stretch;
    }
  }

 private:
  static constexpr auto kForever = std::numeric_limits<std::uint64_t>::max() / 2;

  // How many threads the text that is left keeps busy.
  unsigned useful_threads() const {
    constexpr double kBlocksEach = 4;
    const double whole =
        static_cast<double>(offset_) / std::max(feed_.progress(), 1e-6);
    const double left = whole - static_cast<double>(offset_);
    const double blocks = left / static_cast<double>(options_.block_bytes);
    return static_cast<unsigned>(std::min<double>(threads_, 1 + blocks / kBlocksEach));
  }

  // Walks to the end (true), or to a border of events after `most` bytes of the text
  // if there is work for several threads behind it.
  bool in_windows(TextWindowReader& windows, std::uint64_t most) {
    std::size_t used = 0;
    for (;;) {
      const TextWindow& window = windows.next(used);
      try {
        used = document_.walk(window);
      } catch (const Damaged& damage) {
        if (!options_.recover) throw;
        if (!recovery_.go_on(damage, windows, document_)) return true;
        used = 0;
        progress_({feed_.progress(), static_cast<std::uint64_t>(damage.offset()),
                   static_cast<std::uint64_t>(document_.elements())});
        continue;
      }
      if (window.last) return true;
      const double fraction = feed_.progress();
      document_.expect_rows(fraction);
      progress_({fraction, window.offset + used,
                 static_cast<std::uint64_t>(document_.elements())});
      if (window.offset + used < most || !document_.between_events()) continue;
      offset_ = window.offset + used;
      if (useful_threads() < 2) continue;
      const std::string_view rest = windows.rest(used);
      border_ = event_border({window.tokens.text, used}, rest);
      if (border_.empty()) continue;
      feed_.put_back(rest);
      return false;
    }
  }

  Feed& feed_;
  Document& document_;
  const LoadOptions& options_;
  const unsigned threads_ = thread_count(options_);
  Recovery recovery_;
  Progress& progress_;
  const Blocks::Between between_ = [this](const LoadProgress& done) {
    progress_(done);
  };
  std::uint64_t offset_ = 0;
  std::string border_;
};

[[noreturn]] void refuse(const Damage& damage, const Document& document,
                         const std::string& path) {
  const std::int64_t events = document.elements();
  throw TraceError(damage.kind, path,
                   damage.cause + ", after " + std::to_string(events) + " whole events",
                   damage.hint, static_cast<std::int64_t>(damage.offset), events);
}

// Refuses damage in the container, or counts it. Limits hold also when recovering.
void check_container(const Feed& feed, Document& document, const std::string& path,
                     const LoadOptions& options, std::uint64_t text_bytes) {
  const Damage* const damage = feed.damage();
  if (damage == nullptr) return;
  constexpr std::array kRecoverable = {
      Anomaly::kGzipTruncated, Anomaly::kGzipDamaged,      Anomaly::kGzipChecksum,
      Anomaly::kGzipTrailing,  Anomaly::kPftraceTruncated, Anomaly::kPftraceDamaged};
  const auto* const anomaly =
      std::find_if(kRecoverable.begin(), kRecoverable.end(),
                   [&](Anomaly each) { return kind_of(each) == damage->kind; });
  if (!options.recover || anomaly == kRecoverable.end()) {
    refuse(*damage, document, path);
  }
  document.count(*anomaly, text_bytes, 0, damage->times);
}

// Reads to the end, where a container has its checksum.
void read_on(Feed& feed, Progress& progress) {
  constexpr std::uint64_t kPart = std::uint64_t{4} << 20;
  char byte = 0;
  do {
    feed.skip(kPart);
    progress.again(feed.progress());
  } while (feed.read(&byte, 1) == 1);
}

void read(const Source& source, const LoadOptions& options, Progress& progress,
          Trace& trace) {
  Feed feed(source.open());
  Document document(trace, options.keep,
                    {.recover = options.recover, .split_lists = options.recover});
  try {
    const std::uint64_t text_bytes =
        Walk(feed, document, options, progress).run(trace.path);
    check_container(feed, document, trace.path, options, text_bytes);
    document.finish(text_bytes);
  } catch (const TraceError&) {
    // Damage in the container shows as nonsense in the text. Read on to its checksum:
    // if that is wrong, it says more than this error.
    read_on(feed, progress);
    if (feed.damage() != nullptr) refuse(*feed.damage(), document, trace.path);
    throw;
  }
}

// Where recovery itself gave up, no hint should ask for it.
std::string without_recover(std::string hint) {
  const std::size_t use = hint.find("use recover");
  if (use == hint.npos) return hint;
  const std::size_t stop = hint.find('.', use);
  const std::size_t clause = hint.rfind(", or ", use);
  if (clause + 5 == use) return hint.erase(clause, stop - clause);
  const std::size_t before = hint.rfind('.', use);
  const std::size_t start = before == hint.npos ? 0 : before + 1;
  return hint.erase(start, stop == hint.npos ? stop : stop + 1 - start);
}

Trace load(std::shared_ptr<const Source> source, const LoadOptions& options) {
  Trace trace;
  trace.path = source->path();
  trace.kept = options.keep;
  Progress progress(options);
  // Halves of two traces may be good JSON, and look cut or damaged where they are not.
  const auto refuse_changed = [&] {
    if (!source->changed()) return;
    throw TraceError("changed", trace.path, "the file was changed while it was read",
                     "Load it again when it is complete.");
  };
  try {
    read(*source, options, progress, trace);
    refuse_changed();
  } catch (const TraceError& error) {
    refuse_changed();
    const TraceError told =
        options.recover ? error.with_hint(without_recover(error.hint())) : error;
    throw located(told, *source, progress);
  }
  trace.source = std::move(source);
  return trace;
}

}  // namespace

Trace load_file(const std::string& path, const LoadOptions& options) {
  return load(Source::file(path, options), options);
}

Trace load_bytes(std::string bytes, const LoadOptions& options) {
  return load(Source::memory(std::move(bytes), options), options);
}

}  // namespace tta::trace

// SPDX-License-Identifier: BSD-3-Clause
// trace/blocks.cpp: cutting, parsing and adding of blocks.
#include "trace/blocks.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>

namespace tta::trace {
namespace {

// Text in which no border is found for so long is left to the document.
constexpr std::size_t kMaxBlock = std::size_t{8} << 20;
// No layout puts more between two events.
constexpr std::size_t kMaxBorder = 256;

}  // namespace

std::string event_border(std::string_view before, std::string_view after) {
  std::size_t blanks = before.size();
  while (blanks > 0 && is_blank(before[blanks - 1])) --blanks;
  if (!before.substr(0, blanks).ends_with("},")) return {};
  std::size_t i = 0;
  const auto next_token = [&] {
    while (i < after.size() && is_blank(after[i])) ++i;
    return i < after.size() ? after[i++] : '\0';
  };
  if (next_token() != '{' || next_token() != '"') return {};
  std::string border(before.substr(blanks - 2));
  border += after.substr(0, i);
  return border.size() > kMaxBorder ? std::string() : border;
}

Blocks::Worker::Worker(bool list_form, const LoadOptions& options)
    : document(trace, options.keep, {.split_lists = options.recover}),
      windows(options.window_bytes) {
  document.resume(list_form);
}

void Blocks::Worker::parse(Block& block) {
  block.ids = &ids;
  windows.restart(block.text.get(), block.size, block.offset);
  const std::uint64_t end = block.offset + block.size;
  std::uint64_t done = block.offset;
  try {
    for (std::size_t used = 0; done != end;) {
      const TextWindow& window = windows.next(used);
      used = document.walk(window);
      const bool stuck = used == 0 && window.offset + *window.tokens.end == end;
      if (stuck || !document.between_events()) break;
      done = window.offset + used;
    }
  } catch (const TraceError&) {
    done = block.offset;  // the document will say what it is
  }
  block.sound = done == end;
  document.count_anomalies(windows);
  windows.rest(0);
  document.take_part(block.part, known);
}

Blocks::Blocks(Feed& feed, std::uint64_t offset, Document& document, std::string border,
               const LoadOptions& options, const Between& between)
    : feed_(feed),
      document_(document),
      border_(std::move(border)),
      options_(options),
      between_(between),
      cut_to_(offset) {
  done_.text_bytes = offset;
}

void Blocks::run(unsigned threads) {
  // One more than there are threads, so that none waits for a slower one at once, and
  // no more, because all of them together should stay in the cache.
  blocks_.resize(threads + 1);
  finished_.resize(blocks_.size());
  for (Block& block : blocks_) free_.push_back(&block);
  std::deque<Worker> workers;
  for (unsigned i = 0; i < threads; ++i) {
    workers.emplace_back(document_.list_form(), options_);
  }
  {
    std::vector<std::jthread> others;
    try {
      for (unsigned i = 1; i < threads; ++i) {
        others.emplace_back([&, i] { guarded_work(workers[i], false); });
      }
    } catch (const std::system_error&) {
      // The system gives no more threads: those that there are do the work.
    }
    guarded_work(workers[0], true);
  }
  if (error_) std::rethrow_exception(error_);
  put_back();
}

void Blocks::guarded_work(Worker& worker, bool is_caller) {
  try {
    work(worker, is_caller);
  } catch (...) {
    const std::lock_guard lock(state_);
    if (!error_) error_ = std::current_exception();
    changed_.notify_all();
  }
}

void Blocks::work(Worker& worker, bool is_caller) {
  while (Block* const block = free_block(is_caller)) {
    if (!fill(*block)) {
      const std::lock_guard lock(state_);
      all_read_ = true;
      changed_.notify_all();
      return;
    }
    worker.parse(*block);
    deliver(*block);
  }
}

// Waits for a block to read into; nullptr when no more are wanted. The caller reports
// meanwhile: another thread may be adding for long.
Blocks::Block* Blocks::free_block(bool is_caller) {
  constexpr std::chrono::milliseconds kBetween(50);
  std::unique_lock lock(state_);
  const auto over = [&] { return all_read_ || failed_ || error_; };
  const auto is_ready = [&] { return over() || !free_.empty(); };
  while (is_caller) {
    const LoadProgress done = done_;
    lock.unlock();
    between_(done);
    lock.lock();
    if (changed_.wait_for(lock, kBetween, is_ready)) break;
  }
  changed_.wait(lock, is_ready);
  if (over()) return nullptr;
  Block* const block = free_.back();
  free_.pop_back();
  return block;
}

// Reads up to the last border in the next stretch of text; false if there is none.
bool Blocks::fill(Block& block) {
  const std::lock_guard lock(reading_);
  std::size_t held = unparsed_.size();
  std::size_t border = std::string_view::npos;
  grow(block, 0, std::max(options_.block_bytes, held + 1));
  std::memcpy(block.text.get(), unparsed_.data(), held);
  while (border == std::string_view::npos && !ended_ && held < kMaxBlock) {
    if (block.capacity == held) grow(block, held, 2 * held);
    const std::size_t room = block.capacity - held;
    const std::size_t n = feed_.read(block.text.get() + held, room);
    ended_ = n < room;
    held += n;
    border = std::string_view(block.text.get(), held).rfind(border_);
  }
  if (border == std::string_view::npos) {
    unparsed_.assign(block.text.get(), held);
    return false;
  }
  block.size = border + 2;  // its brace and comma
  block.offset = cut_to_;
  block.number = cut_++;
  block.progress = feed_.progress();
  unparsed_.assign(block.text.get() + block.size, held - block.size);
  cut_to_ += block.size;
  return true;
}

// Keeps the first `held` bytes. Nothing is cleared: it would be touched for nothing.
void Blocks::grow(Block& block, std::size_t held, std::size_t capacity) {
  if (capacity <= block.capacity) return;
  auto text = std::make_unique_for_overwrite<char[]>(capacity + kPadding);
  if (held > 0) std::memcpy(text.get(), block.text.get(), held);
  block.text = std::move(text);
  block.capacity = capacity;
}

// Adds the block and those that waited for it, unless another thread is adding.
void Blocks::deliver(Block& block) {
  std::unique_lock lock(state_);
  finished_[block.number % finished_.size()] = &block;
  if (adding_) return;
  adding_ = true;
  while (!failed_ && !error_) {
    Block*& slot = finished_[next_ % finished_.size()];
    if (slot == nullptr) break;
    Block& ready = *slot;
    if (ready.sound) {
      lock.unlock();
      add(ready);
      lock.lock();
      slot = nullptr;
      ++next_;
      free_.push_back(&ready);
      done_ = {ready.progress, ready.offset + ready.size,
               static_cast<std::uint64_t>(document_.elements())};
    } else {
      failed_ = true;
    }
    changed_.notify_all();
  }
  adding_ = false;
}

void Blocks::add(Block& block) {
  document_.expect_rows(block.progress);
  document_.add_part(block.part, *block.ids, block.offset);
}

// Gives back what was read and not added.
void Blocks::put_back() {
  feed_.put_back(unparsed_);
  for (std::size_t number = cut_; number > next_; --number) {
    const Block* const block = finished_[(number - 1) % finished_.size()];
    feed_.put_back({block->text.get(), block->size});
  }
}

}  // namespace tta::trace

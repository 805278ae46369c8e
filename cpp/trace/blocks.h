// SPDX-License-Identifier: BSD-3-Clause
// trace/blocks.h: parses traceEvents on several threads, with the result of one.
//
// Text is cut into blocks where an event seems to begin: at the very bytes that stood
// between two events before. Threads take turns at reading, so that one inflates
// while the others parse, and parse their block as if it began between two events.
// Blocks are added to the document in their order, and only while each proves to be
// whole events up to its last byte: then the next one began where it was guessed to.
// The first that does not stops everything, and its text is put back for the document
// to walk, which alone decides what is wrong with it. So guesses cost time, never
// truth, and damage is found at the same byte whatever the number of threads.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "trace/document.h"
#include "trace/feed.h"
#include "trace/part.h"
#include "trace/text_windows.h"
#include "trace/trace.h"

namespace tta::trace {

/// Returns the bytes from the end of the event that ends `before` to the first quote
/// in the one that begins `after`; "" if these are not two events.
std::string event_border(std::string_view before, std::string_view after);

class Blocks {
 public:
  using Between = std::function<void(const LoadProgress&)>;

  /// The feed is at `offset` of the text, where the document is between two events
  /// with such a border. `between` is called after each block of the thread that calls
  /// run(). All of them must outlive this.
  Blocks(Feed& feed, std::uint64_t offset, Document& document, std::string border,
         const LoadOptions& options, const Between& between);

  /// Adds events to the document on this and `threads - 1` more threads until the
  /// text cannot be cut any more or a block is not what it seemed. Then the feed is
  /// where the document is. Rethrows what reading or `between` threw.
  void run(unsigned threads);

  /// Where the feed and the document are, after run().
  std::uint64_t offset() const { return done_.text_bytes; }
  /// Tells whether run() read all there is.
  bool ended() const { return ended_; }

 private:
  struct Block {
    std::unique_ptr<char[]> text;
    std::size_t capacity = 0;  // of it, less the padding
    std::size_t size = 0;      // of the text that is the block's
    std::uint64_t offset = 0;  // of the text
    std::size_t number = 0;
    double progress = 0;  // of the feed when it was read
    bool sound = false;
    Part part;
    Document::Ids* ids = nullptr;  // of the thread that parsed it
  };

  // What a thread keeps from block to block.
  struct Worker {
    Worker(bool list_form, const LoadOptions& options);
    void parse(Block& block);

    Trace trace;
    Document document;
    TextWindowReader windows;
    Document::Known known;
    Document::Ids ids;  // in the document, by id in `trace`
  };

  void guarded_work(Worker& worker, bool is_caller);
  void work(Worker& worker, bool is_caller);
  Block* free_block(bool is_caller);
  bool fill(Block& block);
  static void grow(Block& block, std::size_t held, std::size_t capacity);
  void deliver(Block& block);
  void add(Block& block);
  void put_back();

  Feed& feed_;
  Document& document_;
  const std::string border_;
  const LoadOptions& options_;
  const Between& between_;
  std::deque<Block> blocks_;

  std::mutex reading_;    // guards these and the feed
  std::string unparsed_;  // what was read and belongs to no block yet
  std::uint64_t cut_to_;  // where it begins
  std::size_t cut_ = 0;   // blocks so far
  bool ended_ = false;    // the feed has no more

  std::mutex state_;  // guards these
  std::condition_variable changed_;
  std::vector<Block*> free_;
  std::vector<Block*> finished_;  // by number, modulo the number of blocks
  std::size_t next_ = 0;          // the number of the block to be added next
  LoadProgress done_;             // what was added
  bool adding_ = false;           // some thread is at it, and owns the document
  bool all_read_ = false;
  bool failed_ = false;
  std::exception_ptr error_;
};

}  // namespace tta::trace

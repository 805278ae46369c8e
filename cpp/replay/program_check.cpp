// SPDX-License-Identifier: BSD-3-Clause
// replay/program_check.cpp: refuses programs that mean nothing, by name.
#include <algorithm>
#include <string>

#include "replay/program.h"
#include "trace/columns.h"
#include "trace/members.h"

namespace tta::replay {
namespace {

class Checker {
 public:
  explicit Checker(const Program& p)
      : p_(p),
        launched_(p.work.size(), 0),
        arrivals_(p.collectives.size(), 0),
        recorded_(p.events, 0),
        awaited_(p.events, 0),
        given_(p.signals, 0),
        expected_(p.signals, 0) {}

  void run() {
    where_ = "the program";
    if (p_.resolution_ns < 1) refuse("has a resolution below 1 ns");
    for (const auto& d : p_.devices) {
      where_ = "device \"" + d.name + "\"";
      args(d.args);
    }
    for (const auto& w : p_.work) work(w);
    for (const auto& thread : p_.threads) {
      where_ = "thread \"" + thread.name + "\"";
      if (thread.begin < 0) refuse("begins before 0");
      if (thread.begin >= trace::kTimeLimit) refuse("begins outside the time range");
      std::size_t open = 0;
      for (std::size_t i = 0; i < thread.operations.size(); ++i) {
        where_ = "operation " + std::to_string(i) + " (" + thread.operations[i].name +
                 ") of thread \"" + thread.name + "\"";
        operation(thread, thread.operations[i], open);
      }
    }
    where_ = "the program";
    all(launched_, 1, "work", "is launched");
    for (std::size_t i = 0; i < p_.events; ++i) {
      if (awaited_[i] && !recorded_[i]) {
        refuse("waits for event " + std::to_string(i) + ", which nothing records");
      }
    }
    for (std::size_t i = 0; i < p_.signals; ++i) {
      if (expected_[i] && given_[i] != 1) {
        refuse("waits for signal " + std::to_string(i) + ", which is given " +
               std::to_string(given_[i]) + " times");
      }
    }
    for (std::size_t i = 0; i < p_.collectives.size(); ++i) {
      const auto& c = p_.collectives[i];
      if (arrivals_[i] == c.members) continue;
      refuse("has " + std::to_string(arrivals_[i]) + " ranks in collective \"" +
             c.name + "\" of " + std::to_string(c.members));
    }
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw ProgramError(where_ + " " + what);
  }
  void within(std::uint32_t id, std::size_t size, const char* what) const {
    if (id >= size) refuse(std::string("refers to ") + what + " that does not exist");
  }
  void all(const std::vector<std::uint32_t>& counts, std::uint32_t want,
           const char* what, const char* how) const {
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] == want) continue;
      refuse("has " + std::string(what) + " " + std::to_string(i) + " (" +
             p_.work[i].name + ") that " + how + " " + std::to_string(counts[i]) +
             " times");
    }
  }
  void work(const DeviceWork& w) {
    where_ = "work \"" + w.name + "\"";
    within(w.stream, p_.streams.size(), "a stream");
    if (w.ns < 0) refuse("has a negative length");
    if (w.not_before >= trace::kTimeLimit) refuse("begins outside the time range");
    for (const auto ns : {w.ns, w.latency, w.gap}) add(ns);
    args(w.args);
    for (const auto& a : w.after) {
      within(a.work, p_.work.size(), "work");
      add(a.ns);
    }
    if (w.collective == kNone) return;
    within(w.collective, p_.collectives.size(), "a collective");
    ++arrivals_[w.collective];
  }
  void operation(const HostThread& thread, const Operation& op, std::size_t& open) {
    if (op.ns < 0 && op.kind != OpKind::kWait) refuse("has a negative length");
    for (const auto ns : {op.ns, op.back}) add(ns);
    args(op.args);
    for (const auto w : op.work) {
      within(w, p_.work.size(), "work");
      ++launched_[w];
      if (p_.streams[p_.work[w].stream].rank != thread.rank) {
        refuse("launches into a stream of another rank");
      }
    }
    for (const auto& a : op.until) {
      within(a.work, p_.work.size(), "work");
      add(a.ns);
    }
    switch (op.kind) {
      case OpKind::kOpen:
      case OpKind::kOpenSpan:
      case OpKind::kOpenFrame:
        ++open;
        break;
      case OpKind::kClose:
        if (open-- == 0) refuse("closes something that was not opened");
        break;
      case OpKind::kEventRecord:
      case OpKind::kStreamWait:
      case OpKind::kEventSync:
        within(op.id, p_.events, "an event");
        (op.kind == OpKind::kEventRecord ? recorded_ : awaited_)[op.id] = 1;
        if (op.kind != OpKind::kEventSync) stream(op);
        break;
      case OpKind::kStreamSync:
      case OpKind::kDeviceSync:
        stream(op);
        break;
      case OpKind::kSignal:
      case OpKind::kWait:
        within(op.id, p_.signals, "a signal");
        ++(op.kind == OpKind::kSignal ? given_ : expected_)[op.id];
        break;
      case OpKind::kHost:
      case OpKind::kCall:
        break;
    }
  }
  // The sum of all, so that the schedule stays within 64 bits. Constants and negative
  // lengths add nothing.
  void add(std::int64_t ns) {
    if (ns <= 0) return;
    if (ns >= trace::kTimeLimit - total_) refuse("ends outside the time range");
    total_ += ns;
  }
  void args(const std::string& text) const {
    if (text.empty() || trace::is_members(text)) return;
    refuse("has args that are not members of a JSON object: " + text.substr(0, 80));
  }
  void stream(const Operation& op) const {
    within(op.stream, p_.streams.size(), "a stream");
  }

  const Program& p_;
  std::string where_;
  std::vector<std::uint32_t> launched_, arrivals_, recorded_, awaited_, given_,
      expected_;
  std::int64_t total_ = 0;  // ns
};

}  // namespace

void Program::check() const { Checker(*this).run(); }

}  // namespace tta::replay

// SPDX-License-Identifier: BSD-3-Clause
// replay/rank_work.cpp: written and read member by member, by one list.
#include "replay/rank_work.h"

#include <cstring>
#include <type_traits>

namespace tta::replay {
namespace {

constexpr std::string_view kMark = "tta-rank-work-1";

// Both directions go through visit(), so what is written is what is read.
class Writer {
 public:
  template <typename T>
  void operator()(const T& value) {
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
      out_.append(reinterpret_cast<const char*>(&value), sizeof value);
    } else if constexpr (std::is_same_v<T, std::string>) {
      (*this)(value.size());
      out_ += value;
    } else if constexpr (requires { value.has_value(); }) {
      (*this)(value.has_value());
      if (value) (*this)(*value);
    } else if constexpr (requires { value.capacity(); }) {
      (*this)(value.size());
      for (const auto& one : value) (*this)(one);
    } else {
      visit(*this, value);
    }
  }
  std::string out_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}

  template <typename T>
  void operator()(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      const auto byte = take(1)[0];
      if (byte != 0 && byte != 1) fail();
      value = byte == 1;
    } else if constexpr (std::is_enum_v<T>) {
      static_assert(std::is_same_v<T, timeline::LineOf>);
      value = static_cast<T>(take(sizeof value)[0]);
      if (value > timeline::LineOf::kCall) fail();
    } else if constexpr (std::is_arithmetic_v<T>) {
      std::memcpy(&value, take(sizeof value).data(), sizeof value);
    } else if constexpr (std::is_same_v<T, std::string>) {
      std::size_t size = 0;
      (*this)(size);
      value = take(size);
    } else if constexpr (requires { value.has_value(); }) {
      bool has = false;
      (*this)(has);
      if (has) (*this)(value.emplace());
    } else if constexpr (requires { value.capacity(); }) {
      std::size_t size = 0;
      (*this)(size);
      // No element takes less than the eight bytes of a number or of a text's length.
      if (size > left_.size() / 8) fail();
      value.resize(size);
      for (auto& one : value) (*this)(one);
    } else {
      visit(*this, value);
    }
  }
  bool done() const { return left_.empty(); }
  [[noreturn]] static void fail() {
    throw std::invalid_argument("these bytes are not a rank's work, or are truncated");
  }

 private:
  std::string_view take(std::size_t size) {
    if (size > left_.size()) fail();
    const auto out = left_.substr(0, size);
    left_.remove_prefix(size);
    return out;
  }
  std::string_view left_;
};

template <typename T, typename Of>
concept Is = std::is_same_v<std::remove_const_t<T>, Of>;

void visit(auto& io, Is<timeline::Frame> auto& f) {
  io(f.file), io(f.line), io(f.function), io(f.user), io(f.line_of);
}
void visit(auto& io, Is<WorkPlace> auto& p) {
  io(p.kind), io(p.frame), io(p.name), io(p.finding);
}
void visit(auto& io, Is<WorkPart> auto& p) { io(p.place), io(p.ns); }
void visit(auto& io, Is<WorkPassage> auto& p) {
  io(p.from), io(p.to), io(p.ns), io(p.first), io(p.last);
}
void visit(auto& io, Is<RankCollective> auto& m) {
  io(m.key), io(m.group), io(m.ranks), io(m.name), io(m.sequence), io(m.peer),
      io(m.step);
  io(m.bytes), io(m.exposed), io(m.begin), io(m.end);
}
void visit(auto& io, Is<RankStep> auto& s) { io(s.number), io(s.begin), io(s.end); }
void visit(auto& io, Is<RankTime> auto& t) { io(t.begin), io(t.end); }
void visit(auto& io, Is<RankEngineStep> auto& s) {
  io(s.name), io(s.kind), io(s.device), io(s.collectives);
}
void visit(auto& io, Is<RankWork> auto& w) {
  io(w.rank), io(w.stage), io(w.host), io(w.recorded), io(w.places), io(w.parts),
      io(w.passages);
  io(w.collectives), io(w.steps), io(w.engine_steps);
}

}  // namespace

void RankWork::check() const {
  const auto wrong = [](const char* what) {
    throw std::invalid_argument(std::string("a rank's work: ") + what);
  };
  const auto stops = recorded.size();
  if (stops == 0) wrong("it has no begin");
  for (const auto& p : parts) {
    if (p.place >= places.size()) wrong("a part is at no place");
  }
  for (const auto& p : passages) {
    if (p.from >= stops || p.to >= stops) wrong("a passage leads to no stop");
    if (p.first > p.last || p.last > parts.size()) wrong("a passage has no such parts");
  }
  for (const auto& m : collectives) {
    if (m.begin >= stops || m.end >= stops) wrong("a collective is at no stop");
  }
  for (const auto& s : steps) {
    if (s.begin >= stops || s.end >= stops) wrong("a step is at no stop");
  }
}

std::string to_bytes(const RankWork& work) {
  Writer out;
  out(std::string(kMark));
  out(work);
  return std::move(out.out_);
}

RankWork rank_work_from(std::string_view bytes) {
  Reader in(bytes);
  std::string mark;
  in(mark);
  if (mark != kMark) Reader::fail();
  RankWork out;
  in(out);
  if (!in.done()) Reader::fail();
  out.check();
  return out;
}

}  // namespace tta::replay

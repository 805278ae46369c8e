// SPDX-License-Identifier: BSD-3-Clause
// detector/stack_file.cpp: one table of the tensors of a stack, read and written by it.
#include "detector/stack_file.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <stdexcept>
#include <type_traits>

#include "trace/escapes.h"

namespace tta::detector {
namespace {

const std::string kCard = "card.";
constexpr std::int64_t kAny = -1;  // in a shape: as many as there are
using Shape = std::vector<std::int64_t>;

[[noreturn]] void refuse_stack(const TensorsFile& file, const std::string& what) {
  throw WeightsError(file.path + ": " + what +
                     ". The file's content does not match its header: use "
                     "weights that torchtraceap wrote.");
}

// Calls visit(name, where it is kept, shape) for each tensor.
template <typename T, typename M, typename C, typename K, typename Visit>
void for_each_tensor(T& trees, M& mix, C& calibration, K& known, std::size_t of_windows,
                     Visit visit) {
  const auto columns = static_cast<std::int64_t>(of_windows);
#define TTA_VISIT(name, type, count, doc) \
  visit("trees." #name, trees.name, Shape{kAny});
  TTA_TREES(TTA_VISIT)
#undef TTA_VISIT
  visit("mix.sides", mix.sides, Shape{2, 4});
  visit("mix.types", mix.types, Shape{3});
  visit("mix.recoverable", mix.recoverable, Shape{});
  visit("calibration.cpu", calibration.negatives[0], Shape{kAny});
  visit("calibration.gpu", calibration.negatives[1], Shape{kAny});
  visit("known.center", known.center, Shape{columns});
  visit("known.middle", known.middle, Shape{columns});
  visit("known.whiten", known.whiten, Shape{kAny, columns});
  visit("known.window_from", known.window_from, Shape{});
  visit("known.trace_from", known.trace_from, Shape{});
}

// The numbers of a field, whatever it keeps them in.
template <typename T>
auto numbers_of(T& field) {
  if constexpr (std::is_same_v<std::remove_const_t<T>, float>) {
    return std::span(&field, 1);
  } else if constexpr (std::is_same_v<std::remove_const_t<T>, decltype(Mix::sides)>) {
    return std::span(field[0].data(), field.size() * field[0].size());
  } else {
    return std::span(field);
  }
}

template <typename T>
constexpr Dtype kDtypeOf =
    std::is_same_v<std::remove_const_t<T>, float> ? Dtype::kFloat32 : Dtype::kInt64;

std::string_view part_of(std::string_view name) {
  return name.substr(0, name.find('.'));
}

// A tensor is of this shape, where that says how long it is.
bool fits(const Shape& shape, const Shape& wanted) {
  return std::equal(shape.begin(), shape.end(), wanted.begin(), wanted.end(),
                    [](auto has, auto wants) { return wants == kAny || has == wants; });
}

class StackReader {
 public:
  explicit StackReader(const TensorsFile& file) : file_(file) {
    for (const auto& tensor : file.tensors) {
      if (is_of_stack(tensor.name)) parts_.insert(part_of(tensor.name));
    }
  }

  template <typename T>
  void operator()(std::string_view name, T& field, const Shape& wanted) const {
    if (parts_.count(part_of(name)) == 0) return;
    const auto found = std::find_if(file_.tensors.begin(), file_.tensors.end(),
                                    [&](const auto& t) { return t.name == name; });
    const auto tensor = "the tensor " + shown(name);
    if (found == file_.tensors.end()) refuse_stack(file_, tensor + " is missing");
    using Number = typename decltype(numbers_of(field))::element_type;
    if (found->dtype != kDtypeOf<Number> || !fits(found->shape, wanted)) {
      refuse_stack(file_, tensor + " has another type or shape");
    }
    if constexpr (requires { field.resize(1); }) {
      field.resize(found->data.size() / sizeof(Number));
    }
    const auto into = std::as_writable_bytes(numbers_of(field));
    if (!into.empty()) std::memcpy(into.data(), found->data.data(), into.size());
  }

 private:
  const TensorsFile& file_;
  std::set<std::string_view> parts_;  // that the file has something of
};

}  // namespace

void check(const Card& card) {
  std::size_t bytes = 0;
  for (const auto& [name, text] : card) {
    bytes += name.size() + text.size();
    if (name.empty()) throw std::invalid_argument("card: a name is empty");
    if (trace::find_bad_utf8(name).count + trace::find_bad_utf8(text).count > 0) {
      throw std::invalid_argument("card: " + shown(name) + " is not UTF-8");
    }
  }
  if (bytes > kMostCardBytes) {
    throw std::invalid_argument("card: " + std::to_string(bytes) +
                                " bytes, of at most " + std::to_string(kMostCardBytes));
  }
}

bool is_of_stack(std::string_view name) {
  static const auto kNames = [] {
    Trees trees;
    Stack stack;
    std::set<std::string, std::less<>> out;
    for_each_tensor(
        trees, stack.mix, stack.calibration, stack.known, 0,
        [&](const char* one, const auto&, const Shape&) { out.insert(one); });
    return out;
  }();
  return kNames.count(name) > 0;
}

TensorParts parts_of(const Stack& stack, const Card& card) {
  TensorParts out;
  const auto add = [&](const char* name, const auto& field, Shape shape) {
    const auto part = part_of(name);
    if (part == "trees" && stack.trees.none()) return;
    if (part == "known" && stack.known.center.empty()) return;
    const auto numbers = numbers_of(field);
    std::int64_t others = 1;
    for (const auto size : shape) others *= size == kAny ? 1 : size;
    for (auto& size : shape) {
      if (size == kAny) size = static_cast<std::int64_t>(numbers.size()) / others;
    }
    using Number = typename decltype(numbers)::element_type;
    out.tensors.push_back({name, kDtypeOf<Number>, shape, std::as_bytes(numbers)});
  };
  for_each_tensor(stack.trees.trees(), stack.mix, stack.calibration, stack.known,
                  stack.known.center.size(), add);
  for (const auto& [name, text] : card) out.metadata[kCard + name] = text;
  return out;
}

Stack read_stack(const TensorsFile& file, const Tables& tables) {
  Stack out;
  Trees trees;
  for_each_tensor(trees, out.mix, out.calibration, out.known, tables.window_columns(),
                  StackReader(file));
  try {
    out.trees = Forest(std::move(trees), tables);
    check(out, tables);
  } catch (const std::invalid_argument& error) {
    refuse_stack(file, error.what());
  }
  return out;
}

Known read_known(const TensorsFile& file, const Tables& tables) {
  Stack out;
  Trees trees;
  const StackReader reader(file);
  for_each_tensor(trees, out.mix, out.calibration, out.known, tables.window_columns(),
                  [&](std::string_view name, auto& field, const Shape& wanted) {
                    if (part_of(name) == "known") reader(name, field, wanted);
                  });
  try {
    check(out.known, tables);
  } catch (const std::invalid_argument& error) {
    refuse_stack(file, error.what());
  }
  return out.known;
}

Card read_card(const TensorsFile& file) {
  Card out;
  for (const auto& [key, text] : file.metadata) {
    if (key.starts_with(kCard)) out[key.substr(kCard.size())] = text;
  }
  try {
    check(out);
  } catch (const std::invalid_argument& error) {
    refuse_stack(file, error.what());
  }
  return out;
}

}  // namespace tta::detector

// SPDX-License-Identifier: BSD-3-Clause
// bindings/own_rules.h: rules written in Python, as the core runs them.
#pragma once

#include <pybind11/pybind11.h>

#include <stdexcept>
#include <vector>

#include "patterns/own_rule.h"

namespace tta::bindings {

/// What a rule sees, while it runs: Python may keep the object, but not what it is of.
class RuleContext {
 public:
  explicit RuleContext(const patterns::Context& context) : context_(&context) {}
  void close() { context_ = nullptr; }
  const patterns::Context& operator*() const {
    if (context_ == nullptr) {
      throw std::runtime_error("a rule's view can be used only while the rule runs");
    }
    return *context_;
  }
  const timeline::Timeline& timeline() const { return (**this).timeline; }

 private:
  const patterns::Context* context_;
};

/// A rule and the Python function that makes its requests. The two are apart because a
/// rule is copied and dropped without the interpreter's lock.
struct BoundRule {
  patterns::OwnRule rule;
  pybind11::object propose;
};

/// Returns rules that call the functions, with the interpreter's lock held meanwhile.
/// They refer to `bound`, which must outlive them; exceptions of the functions
/// propagate.
std::vector<patterns::OwnRule> callable_rules(const std::vector<BoundRule>& bound);

}  // namespace tta::bindings

#pragma once
#include "judges/judge.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace learn {

/// A solution of a step: the right one, the stub ("unwritten"), or one with the mistake of this name. "name/2" is another way to
/// make the mistake "name".
struct Variant {
  std::string step, name;
  std::function<Step()> judged;
  Variant(std::string its_step, std::string its_name, std::function<Step()> made)
      : step(std::move(its_step)), name(std::move(its_name)), judged(std::move(made)) {
    all().push_back(*this);
  }
  /// Returns all variants; each registers itself.
  static std::vector<Variant>& all() {
    static std::vector<Variant> variants;
    return variants;
  }
  std::string mistake() const { return name.substr(0, name.find('/')); }
};

}  // namespace learn

#pragma once
#include "tokenizers/internal/json.h"

#include <heed/nn/mlp.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace heed {

constexpr int deepest_config = 8;  // objects and lists within each other

/// How a null counts: as a wrong value, or as a missing key.
enum class Null { wrong, missing };

/// Reads the config.json of a pretrained model. It keeps account of the keys: finish() throws one Error with every key that is
/// missing, has a value that heed cannot compute, or is unknown. Unknown keys with a null are ignored.
class ConfigReader {
 public:
  /// `source` names the file in messages. Throws `Error` when `text` is not a JSON object.
  ConfigReader(const std::string& text, const std::string& source);
  ConfigReader(const Json& object, std::string source);

  /// Returns the value of `key`, or null when it is missing or null.
  const Json* find(const std::string& key);
  /// Returns an integer from `least` up. Without a fallback a missing key is noted, and the result is max(least, 1).
  int integer(const std::string& key, int least, std::optional<int> fallback = {}, Null null = Null::wrong);
  /// Returns a finite number above 0.
  double positive(const std::string& key, std::optional<double> fallback = {}, Null null = Null::wrong);
  /// Returns a number above 0, 0 for a null, or `otherwise` for a missing key.
  double positive_or_none(const std::string& key, double otherwise);
  bool flag(const std::string& key, bool fallback);
  /// Returns whether linear layers have a bias, which `key` says.
  bool bias(const std::string& key, bool fallback) { return flag(key, fallback); }
  std::string text(const std::string& key, const std::string& fallback);
  /// Returns the activation that `key` names.
  Activation activation(const std::string& key, const std::string& fallback);

  /// Notes a problem unless `key` is missing or has the value that heed supports.
  void expect(const std::string& key, const Json& value);
  /// Does so for an integer, which a number such as 1.0 is not.
  void expect_integer(const std::string& key, int value);
  /// Marks keys as known that do not change what the model computes.
  void ignore(const std::vector<std::string>& keys) { known_.insert(keys.begin(), keys.end()); }
  /// Takes over what `inner`, the reader of the object `key`, found wrong.
  void absorb(const std::string& key, const ConfigReader& inner);
  bool has(const std::string& key, Null null = Null::wrong) const {
    return json_.contains(key) && (null == Null::wrong || !json_.at(key).is_null());
  }
  void note(const std::string& problem) { problems_.push_back(problem); }
  /// Returns all problems: those noted, then unknown keys.
  std::vector<std::string> problems() const;
  void finish() const { refuse(problems()); }
  /// Throws Error with the problems that were noted so far, if any.
  void check() const { refuse(problems_); }

  const std::string& source() const { return source_; }

 private:
  const Json* find(const std::string& key, Null null);
  void refuse(const std::vector<std::string>& found) const;
  Json json_;
  std::string source_;
  std::set<std::string> known_;
  std::vector<std::string> problems_;
};

}  // namespace heed

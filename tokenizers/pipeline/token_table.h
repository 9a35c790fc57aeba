#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace heed::tokenizers {

/// Tokens by id and by name. Ids may have gaps.
class TokenTable {
 public:
  explicit TokenTable(std::size_t expected) : expected_(expected) { ids_.reserve(expected); }

  /// Throws Error when the id is negative or far above the number of expected tokens, or when another name has this id.
  void add(const std::string& name, std::int64_t id);
  /// Adds a name with the next id. When two names are equal, find() returns the last id.
  void append(const std::string& name);

  int find(std::string_view name) const;                        // -1 for an unknown name
  const std::string* name(int id) const;                        // nullptr when no token has this id
  int size() const { return static_cast<int>(names_.size()); }  // largest id, plus 1

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  std::size_t expected_;
  std::unordered_map<std::string, int, Hash, std::equal_to<>> ids_;
  std::vector<const std::string*> names_;  // keys of ids_
};

/// Returns the smallest id that a vocabulary of this size refuses: ids may have gaps, but not millions.
std::int64_t id_limit(std::size_t tokens);

/// Returns the name of the token for a byte: "<0x0A>".
std::string byte_name(unsigned char byte);

}  // namespace heed::tokenizers

#include "tokenizers/pipeline/token_table.h"

#include <heed/autograd/error.h>
#include <heed/files/utf8.h>

namespace heed::tokenizers {

std::int64_t id_limit(std::size_t tokens) { return static_cast<std::int64_t>(8 * tokens + (1 << 16)); }

void TokenTable::add(const std::string& name, std::int64_t id) {
  if (id < 0) fail("token '{}' has the id {}, which is negative", excerpt(name), id);
  if (id >= id_limit(expected_)) {
    fail("token '{}' has the id {}, far above the number of tokens, {}", excerpt(name), id, expected_);
  }
  if (static_cast<std::size_t>(id) >= names_.size()) names_.resize(static_cast<std::size_t>(id) + 1);
  const std::string*& place = names_[static_cast<std::size_t>(id)];
  if (place) fail("tokens '{}' and '{}' have the same id {}", excerpt(*place), excerpt(name), id);
  const auto [entry, is_new] = ids_.emplace(name, static_cast<int>(id));
  if (!is_new) fail("token '{}' has two ids, {} and {}", excerpt(name), entry->second, id);
  place = &entry->first;
}

void TokenTable::append(const std::string& name) {
  const auto entry = ids_.insert_or_assign(name, size()).first;
  names_.push_back(&entry->first);
}

int TokenTable::find(std::string_view name) const {
  const auto found = ids_.find(name);
  return found == ids_.end() ? -1 : found->second;
}

const std::string* TokenTable::name(int id) const {
  return id >= 0 && id < size() ? names_[static_cast<std::size_t>(id)] : nullptr;
}

std::string byte_name(unsigned char byte) { return fmt::format("<0x{:02X}>", byte); }

}  // namespace heed::tokenizers

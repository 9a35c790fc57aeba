#include "tokenizers/internal/normal_form.h"

#include <utf8proc.h>

#include <cstdlib>

namespace heed {
namespace {

std::string normal_form(std::string_view text, utf8proc_option_t form) {
  utf8proc_uint8_t* made = nullptr;
  const auto bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  const utf8proc_ssize_t size = utf8proc_map(bytes, static_cast<utf8proc_ssize_t>(text.size()), &made,
                                             static_cast<utf8proc_option_t>(UTF8PROC_STABLE | form));
  if (size < 0) return std::string(text);
  std::string result(reinterpret_cast<const char*>(made), static_cast<std::size_t>(size));
  std::free(made);
  return result;
}

}  // namespace

std::string composed(std::string_view text) { return normal_form(text, UTF8PROC_COMPOSE); }

std::string decomposed(std::string_view text) { return normal_form(text, UTF8PROC_DECOMPOSE); }

}  // namespace heed

#pragma once
#include <heed/models/model.h>

#include <optional>
#include <string>

namespace heed {

/// Returns whether the model knows a token, other than as the unknown one.
bool is_known_token(const Model& model, const std::string& token);

/// Returns the one token that `more` adds to those of a text; nullopt where it adds several or an unknown one, or changes others.
std::optional<int> added_token(const Model& model, const std::string& text, const std::string& more);

}  // namespace heed

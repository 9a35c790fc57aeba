#pragma once
#include <heed/models/model.h>

#include <string>
#include <string_view>
#include <vector>

namespace heed {

/// Returns a text for a masked language model in which every mask has the model's own name: `<mask>` and [MASK] both hide a token,
/// unless the other name is a token, too. Also renames the mask in `query`. Returns the text as it is for other models.
std::string with_own_masks(const Model& model, std::string_view read, std::string& query);

/// Returns the tokens of a text whose masks have the model's own name.
std::vector<std::string> tokens_of(const Model& model, std::string_view text);

}  // namespace heed

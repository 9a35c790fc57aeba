#pragma once
#include "formats/hugging_face/family.h"

#include <string>

namespace heed {

/// Reads the text of a config.json.
inline PretrainedConfig read(const std::string& text) { return read_pretrained_config(text, "config.json"); }

}  // namespace heed

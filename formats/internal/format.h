#pragma once
#include <heed/formats/saved_model.h>

#include <filesystem>
#include <span>

namespace heed {

/// A format of pretrained models. load_model() and its relatives ask the formats in their order and name none of them: a new format
/// is one file and one line of formats().
struct Format {
  /// Returns the path that read() takes: `path`, or the directory of which it is a part. Empty for a path of another format.
  std::filesystem::path (*find)(const std::filesystem::path& path);
  /// Reads a model; without its weights if `loading` is null.
  Model (*read)(const std::filesystem::path& path, const Loading* loading);
  const char* tokenizer;  ///< the name under which its files keep a tokenizer, for messages
};

/// Returns all formats.
std::span<const Format> formats();

}  // namespace heed

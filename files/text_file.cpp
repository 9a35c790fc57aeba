#include <heed/files/text_file.h>
#include <heed/files/utf8.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

namespace heed {

TextFile::TextFile(const std::filesystem::path& path) : name_(path.string()) {
  if (std::filesystem::is_directory(path)) fail("{}: expected a text file, got a directory", name_);
  std::ifstream file(path, std::ios::binary);
  if (!file) fail("{}: cannot be opened: {}", name_, std::strerror(errno));
  text_.assign(std::istreambuf_iterator<char>(file), {});
  if (file.bad()) fail("{}: cannot be read: {}", name_, std::strerror(errno));
  std::string_view rest = checked_utf8(text_, name_);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines_.push_back(line);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

void TextFile::finish() const {
  if (mistakes_ == 0) return;
  const int more = mistakes_ - most_listed;
  fail("{}{}", listing_, more > 0 ? fmt::format("\n... and {} more", more) : "");
}

}  // namespace heed

#include <heed/files/file.h>
#include <heed/files/text_file.h>
#include <heed/files/utf8.h>

#include <algorithm>

namespace heed {

namespace {

std::string text_at(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) fail("{}: expected a text file, got a directory", path.string());
  return read_file(path);
}

}  // namespace

TextFile::TextFile(const std::filesystem::path& path) : TextFile(path.string(), text_at(path)) {}

TextFile::TextFile(std::string name, std::string text) : name_(std::move(name)), text_(std::move(text)) {
  std::string_view rest = checked_text(text_, name_);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines_.push_back(line);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

void TextFile::note(std::size_t line, std::string_view message) {
  if (++mistakes_ >= max_counted) {  // a reader may call this from a catch block after an earlier mistake() threw
    fail("{}\n... and at least {} more; the rest was not read", listing_, max_counted - max_listed);
  }
  if (mistakes_ > max_listed) return;
  listing_ += fmt::format("{}{}:{}: {}", mistakes_ > 1 ? "\n" : "", name_, line, visible(message));
}

void TextFile::finish() const {
  if (mistakes_ == 0) return;
  const int more = mistakes_ - max_listed;
  fail("{}{}", listing_, more > 0 ? fmt::format("\n... and {} more", more) : "");
}

}  // namespace heed

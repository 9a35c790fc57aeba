#include "run/internal/event_file.h"
#include "tokenizers/internal/json.h"

#include <heed/autograd/ops.h>
#include <heed/files/file.h>
#include <heed/files/text_file.h>
#include <heed/files/utf8.h>
#include <heed/run/dump.h>
#include <heed/run/log.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fcntl.h>
#include <limits>
#include <optional>
#include <sys/file.h>
#include <unistd.h>

namespace heed {

// Keeps other writers out of a directory, until it is destroyed or the process ends.
class DirectoryLock {
 public:
  explicit DirectoryLock(const std::filesystem::path& path)
      : descriptor_(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (descriptor_ < 0) throw FileError(fmt::format("{}: {}", path.string(), std::strerror(errno)));
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
    ::close(descriptor_);
    fail("{}: another Log writes to this directory; end it first (in Python: del log), or give each its own directory",
         path.string());
  }
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;
  ~DirectoryLock() { ::close(descriptor_); }

 private:
  int descriptor_;
};

// A text file whose last part may be written again.
class AppendedFile {
 public:
  // The last append() had `last` bytes.
  explicit AppendedFile(const std::filesystem::path& path, std::size_t last = 0)
      : path_(path), descriptor_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
    if (descriptor_ < 0) refuse();
    end_ = static_cast<std::uint64_t>(std::max<off_t>(::lseek(descriptor_, 0, SEEK_END), 0));
    begin_ = end_ - std::min<std::uint64_t>(last, end_);
  }
  AppendedFile(const AppendedFile&) = delete;
  AppendedFile& operator=(const AppendedFile&) = delete;
  ~AppendedFile() { ::close(descriptor_); }

  void append(std::string_view text) {
    begin_ = end_;
    put(text);
  }
  // Writes `text`, which is not shorter, in place of the last append().
  void replace_last(std::string_view text) {
    end_ = begin_;
    put(text);
  }

 private:
  [[noreturn]] void refuse() const { throw FileError(fmt::format("{}: {}", path_.string(), std::strerror(errno))); }
  void put(std::string_view text) {
    while (!text.empty()) {
      const ssize_t written = ::pwrite(descriptor_, text.data(), text.size(), static_cast<off_t>(end_));
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) refuse();
      end_ += static_cast<std::uint64_t>(written);
      text.remove_prefix(static_cast<std::size_t>(written));
    }
  }

  std::filesystem::path path_;
  int descriptor_;
  std::uint64_t begin_ = 0, end_ = 0;  // of the last append()
};

namespace {

namespace fs = std::filesystem;

double now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

fs::path csv_path(const fs::path& run) { return run / "metrics.csv"; }

std::string json_line(const LogLine& line) {
  Json object{{"step", line.step}};
  for (const auto& [name, value] : line.values) object[name] = std::isfinite(value) ? Json(value) : Json();
  return format_json(object) + "\n";
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string csv_header(const std::vector<std::string>& columns) {
  std::string text = "step";
  for (const std::string& column : columns) text += "," + csv_field(column);
  return text + "\n";
}

std::string csv_row(const LogLine& line, const std::vector<std::string>& columns) {
  std::string text = fmt::format("{}", line.step);
  for (const std::string& column : columns) {
    const auto found = std::ranges::find(line.values, column, &std::pair<std::string, double>::first);
    text += found == line.values.end() ? "," : fmt::format(",{}", found->second);
  }
  return text + "\n";
}

LogLine log_line(std::string_view text) {
  const Json object = parse_json(text);
  if (!object.is_object() || !object.contains("step") || !object["step"].is_number_integer() || object["step"] < 0) {
    fail("expected an object {{\"step\": ...}} with a step from 0");
  }
  LogLine line{.step = object["step"]};
  for (const auto& [name, value] : object.items()) {
    if (name == "step" || !(value.is_number() || value.is_null())) continue;
    line.values.emplace_back(name, value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>());
  }
  return line;
}

void check_name(const std::string& name, const LogLine& line) {
  if (name.empty() || name.find_first_of("\r\n") != std::string::npos) {
    fail("Log: expected the name of a number, got '{}'", excerpt(name));
  }
  if (name == "step") fail("Log: 'step' is the first argument of write(); choose another name");
  if (std::ranges::find(line.values, name, &std::pair<std::string, double>::first) != line.values.end()) {
    fail("Log: '{}' was already written for step {}", excerpt(name), line.step);
  }
}

// Returns the share of units whose gradients are all 0: columns of a matrix (in, out), else elements of the first axis.
double dead_units(const Tensor& gradient) {
  const NoRecording constants;
  const bool is_matrix = gradient.rank() == 2;
  const Tensor units = is_matrix ? gradient.detach() : reshape(gradient.detach(), {gradient.size(0), -1});
  const Tensor largest = max(abs(units), {is_matrix ? 0 : 1});
  const std::vector<double> values = largest.to_vector();
  return static_cast<double>(std::ranges::count(values, 0.0)) / static_cast<double>(values.size());
}

}  // namespace

struct Log::Files {
  fs::path path;
  std::unique_ptr<DirectoryLock> lock;
  AppendedFile lines, events;
  std::optional<AppendedFile> rows;  // opened anew when a column is added
  std::vector<std::string> columns;
  LogLine last{.step = -1};
  std::int64_t first = 0;  // where the log resumes

  Files(const fs::path& directory, std::unique_ptr<DirectoryLock> locked, double time,
        const std::vector<LogLine>& before)
      : path(directory), lock(std::move(locked)), lines(metrics_path(directory)), events(event_path(directory, time)) {
    for (const LogLine& line : before) note_columns(line);
    write_table(0);
    events.append(version_event(time));
  }

  // Returns whether the line has new columns.
  bool note_columns(const LogLine& line) {
    const std::size_t count = columns.size();
    for (const auto& [name, value] : line.values) {
      if (std::ranges::find(columns, name) == columns.end()) columns.push_back(name);
    }
    return columns.size() > count;
  }

  void write(std::int64_t step, const std::vector<std::pair<std::string, double>>& values) {
    if (step < std::max(last.step, first))
      fail("Log: expected a step from {} on, got {}", std::max(last.step, first), step);
    const bool continues = step == last.step;
    LogLine line = continues ? last : LogLine{.step = step};
    for (const auto& [name, value] : values) {
      check_name(name, line);
      line.values.emplace_back(name, value);
    }
    continues ? lines.replace_last(json_line(line)) : lines.append(json_line(line));
    if (note_columns(line)) {
      write_table(csv_row(line, columns).size());
    } else {
      continues ? rows->replace_last(csv_row(line, columns)) : rows->append(csv_row(line, columns));
    }
    events.append(scalar_event(now(), step, values));
    last = std::move(line);
  }

  // Writes metrics.csv anew from metrics.jsonl. Its last row has `last_bytes`.
  void write_table(std::size_t last_bytes) {
    const std::vector<LogLine> all = read_log(path);
    write_file(csv_path(path), [&](const auto& put) {
      put(csv_header(columns));
      for (const LogLine& line : all) put(csv_row(line, columns));
    });
    rows.emplace(csv_path(path), last_bytes);
  }
};

Log::Log(const fs::path& directory, LogOptions options) {
  const double time = now();
  if (!options.resume) {
    make_directories(directory.has_parent_path() ? directory.parent_path() : fs::path("."));
    const fs::path made = make_free_directory(directory);
    files_ = std::make_unique<Files>(made, std::make_unique<DirectoryLock>(made), time, std::vector<LogLine>{});
    return;
  }
  const std::int64_t first = *options.resume;
  if (first < 0) fail("Log: expected a step from 0 to resume at, got {}", first);
  if (fs::exists(directory / "config.yaml")) {
    fail("{}: is a run of train, whose log is not continued; give the log a directory of its own", directory.string());
  }
  const fs::path file = metrics_path(directory);
  if (!fs::exists(file) && first > 0) {
    fail("{}: there is no log to continue at step {}; without resume, Log begins a new one", directory.string(), first);
  }
  make_directories(directory);
  auto lock = std::make_unique<DirectoryLock>(directory);
  if (!fs::exists(file)) {
    files_ = std::make_unique<Files>(directory, std::move(lock), time, std::vector<LogLine>{});
    return;
  }
  std::string text = read_file(file);
  text.resize(text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1);  // a line that was cut off
  write_file(file, text);
  std::vector<LogLine> kept = read_log(directory);
  std::erase_if(kept, [&](const LogLine& line) { return line.step >= first; });
  std::string lines;
  for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end) {
    end = text.find('\n', begin) + 1;
    const std::string line = text.substr(begin, end - begin);
    if (line != "\n" && log_line(line).step < first) lines += line;
  }
  write_file(file, lines);
  files_ = std::make_unique<Files>(directory, std::move(lock), time, kept);
  files_->events.append(restart_event(time, first));
  files_->first = first;
}

Log::Log(Log&&) noexcept = default;
Log::~Log() = default;

const fs::path& Log::path() const { return files_->path; }

void Log::write(std::int64_t step, const std::vector<std::pair<std::string, Scalar>>& values) {
  std::vector<std::pair<std::string, double>> numbers;
  for (const auto& [name, scalar] : values) numbers.emplace_back(name, scalar.value);
  files_->write(step, numbers);
}

void Log::write_gradients(std::int64_t step, const Parameters& parameters, const Gradients& gradients) {
  std::vector<std::pair<std::string, double>> numbers;
  for (const auto& [name, parameter] : parameters) {
    const Tensor* const gradient = gradients.find(parameter);
    if (!gradient) continue;
    numbers.emplace_back("norm/" + name, std::sqrt(sum_of_squares(parameter)));
    numbers.emplace_back("gradient/" + name, std::sqrt(sum_of_squares(*gradient)));
    if (gradient->rank() > 0) numbers.emplace_back("dead/" + name, dead_units(*gradient));
  }
  files_->write(step, numbers);
}

void Log::write_updates(std::int64_t step, const Parameters& parameters, const std::function<void()>& update) {
  const NamedTensors before = [&] {
    NamedTensors copies;
    for (const auto& [name, parameter] : parameters) {
      if (!parameter.is_frozen()) copies.emplace_back(name, parameter.detach().clone());
    }
    return copies;
  }();
  update();
  const NoRecording constants;
  std::vector<std::pair<std::string, double>> numbers;
  for (const auto& [name, old] : before) {
    const double norm = std::sqrt(sum_of_squares(old)), change = std::sqrt(sum_of_squares(parameters[name] - old));
    numbers.emplace_back("update/" + name, norm > 0 ? change / norm : change > 0 ? INFINITY : 0);
  }
  files_->write(step, numbers);
}

std::vector<LogLine> read_log(const fs::path& run) {
  std::vector<LogLine> result;
  std::string text = read_file(metrics_path(run));
  const std::size_t last = text.rfind('\n') + 1;  // 0 without a line break
  if (last < text.size() && !Json::accept(text.substr(last))) text.resize(last);
  TextFile file(metrics_path(run).string(), std::move(text));
  for (std::size_t i = 0; i < file.lines().size(); ++i) {
    try {
      result.push_back(log_line(file.lines()[i]));
    } catch (const Error& error) {
      file.mistake(i + 1, "{}", error.what());
    }
  }
  file.finish();
  return result;
}

}  // namespace heed

#include "run/internal/event_file.h"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <unistd.h>

namespace heed {
namespace {

constexpr std::array<std::uint32_t, 256> crc_table = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0x82F63B78U : 0U);  // the polynomial, reflected
    table[i] = crc;
  }
  return table;
}();

// Little-endian, as TFRecord and protobuf are.
std::string fixed(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xFF);
  return text;
}

std::uint32_t masked(std::uint32_t crc) { return (crc >> 15 | crc << 17) + 0xA282EAD8U; }

// The wire format of protobuf: a key (field number and type), then the value.
std::string varint(std::uint64_t value) {
  std::string text;
  for (; value >= 0x80; value >>= 7) text += static_cast<char>(0x80 | (value & 0x7F));
  return text + static_cast<char>(value);
}
std::string integer(std::uint64_t field, std::int64_t value) {
  return varint(field << 3) + varint(static_cast<std::uint64_t>(value));
}
std::string number64(std::uint64_t field, double value) {
  return varint(field << 3 | 1) + fixed(std::bit_cast<std::uint64_t>(value), 8);
}
std::string number32(std::uint64_t field, double value) {
  return varint(field << 3 | 5) + fixed(std::bit_cast<std::uint32_t>(static_cast<float>(value)), 4);
}
std::string bytes(std::uint64_t field, std::string_view value) {
  return varint(field << 3 | 2) + varint(value.size()) + std::string(value);
}

// Field numbers of tensorflow/core/util/event.proto and tensorflow/core/framework/summary.proto.
enum Event : std::uint64_t { wall_time = 1, step = 2, file_version = 3, summary = 5, session_log = 7 };
enum Summary : std::uint64_t { value = 1 };
enum Value : std::uint64_t { tag = 1, simple_value = 2 };
enum SessionLog : std::uint64_t { status = 1 };
constexpr std::int64_t status_start = 1;

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t crc = ~0U;
  for (const char c : bytes) crc = crc >> 8 ^ crc_table[(crc ^ static_cast<unsigned char>(c)) & 0xFF];
  return ~crc;
}

std::string event_record(std::string_view bytes) {
  const std::string length = fixed(bytes.size(), 8);
  return length + fixed(masked(crc32c(length)), 4) + std::string(bytes) + fixed(masked(crc32c(bytes)), 4);
}

std::string version_event(double time) {
  return event_record(number64(Event::wall_time, time) + bytes(Event::file_version, "brain.Event:2"));
}

std::string restart_event(double time, std::int64_t step) {
  return event_record(number64(Event::wall_time, time) + integer(Event::step, step) +
                      bytes(Event::session_log, integer(SessionLog::status, status_start)));
}

std::string scalar_event(double time, std::int64_t step, const std::vector<std::pair<std::string, double>>& values) {
  std::string all;
  for (const auto& [name, number] : values) {
    all += bytes(Summary::value, bytes(Value::tag, name) + number32(Value::simple_value, number));
  }
  return event_record(number64(Event::wall_time, time) + integer(Event::step, step) + bytes(Event::summary, all));
}

std::filesystem::path event_path(const std::filesystem::path& directory, double time) {
  static std::atomic<int> number{0};  // of files that this process made
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0 || host[0] == '\0') host[0] = '-';
  return directory / fmt::format("events.out.tfevents.{}.{}.{}.{}", std::llround(std::floor(time)), host.data(),
                                 ::getpid(), number++);
}

}  // namespace heed

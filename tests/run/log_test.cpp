#include "run/internal/event_file.h"
#include "tests/catch.h"
#include "tests/message.h"
#include "tests/scratch.h"

#include <heed/autograd/ops.h>
#include <heed/files/file.h>
#include <heed/nn/layers.h>
#include <heed/optim/optimizer.h>
#include <heed/run/log.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <map>

using namespace heed;

namespace {

// A decoder of event files that shares no code with the writer: checksums bit by bit, and protobuf by its wire types.
struct Field {
  std::uint64_t number = 0, integer = 0;  // integer: of wire type 0, or the bits of types 1 and 5
  std::string bytes{};                    // of wire type 2
};

std::uint64_t read_varint(const std::string& text, std::size_t& at) {
  std::uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const std::uint64_t byte = static_cast<unsigned char>(text.at(at++));
    value |= (byte & 0x7F) << shift;
    if (byte < 0x80) return value;
  }
}

std::uint64_t read_fixed(const std::string& text, std::size_t at, int bytes) {
  std::uint64_t value = 0;
  for (int i = bytes; i-- > 0;)
    value = value << 8 | static_cast<unsigned char>(text.at(at + static_cast<std::size_t>(i)));
  return value;
}

std::vector<Field> fields_of(const std::string& text) {
  std::vector<Field> fields;
  for (std::size_t at = 0; at < text.size();) {
    const std::uint64_t key = read_varint(text, at);
    Field field{.number = key >> 3};
    if (const std::uint64_t type = key & 7; type == 0) {
      field.integer = read_varint(text, at);
    } else if (type == 2) {
      const std::size_t length = read_varint(text, at);
      field.bytes = text.substr(at, length);
      REQUIRE(field.bytes.size() == length);
      at += length;
    } else {
      REQUIRE((type == 1 || type == 5));
      const int bytes = type == 1 ? 8 : 4;
      field.integer = read_fixed(text, at, bytes);
      at += static_cast<std::size_t>(bytes);
    }
    fields.push_back(field);
  }
  return fields;
}

std::uint32_t checksum(const std::string& text) {
  std::uint32_t crc = 0xFFFFFFFF;
  for (const char c : text) {
    for (int bit = 0; bit < 8; ++bit) {
      const bool differs = ((crc ^ static_cast<unsigned char>(c) >> bit) & 1) != 0;
      crc = crc >> 1 ^ (differs ? 0x82F63B78 : 0);
    }
  }
  crc = ~crc;
  return (crc >> 15 | crc << 17) + 0xA282EAD8;
}

struct Event {
  double time = 0;
  std::int64_t step = 0;
  std::string version{};
  bool starts = false;
  std::map<std::string, float> values{};
};

std::vector<Event> read_events(const std::filesystem::path& file) {
  const std::string text = read_file(file);
  std::vector<Event> events;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = read_fixed(text, at, 8);
    CHECK(read_fixed(text, at + 8, 4) == checksum(text.substr(at, 8)));
    const std::string bytes = text.substr(at + 12, length);
    REQUIRE(bytes.size() == length);
    CHECK(read_fixed(text, at + 12 + length, 4) == checksum(bytes));
    at += length + 16;
    Event event;
    for (const Field& field : fields_of(bytes)) {
      if (field.number == 1) event.time = std::bit_cast<double>(field.integer);
      if (field.number == 2) event.step = static_cast<std::int64_t>(field.integer);
      if (field.number == 3) event.version = field.bytes;
      if (field.number == 7) event.starts = fields_of(field.bytes).at(0).integer == 1;
      if (field.number != 5) continue;
      for (const Field& value : fields_of(field.bytes)) {
        const std::vector<Field> parts = fields_of(value.bytes);
        REQUIRE(parts.size() == 2);
        event.values[parts[0].bytes] = std::bit_cast<float>(static_cast<std::uint32_t>(parts[1].integer));
      }
    }
    events.push_back(event);
  }
  return events;
}

std::vector<std::filesystem::path> event_files(const std::filesystem::path& run) {
  std::vector<std::filesystem::path> files = entries_of(run);
  std::erase_if(files, [](const auto& path) { return !path.filename().string().starts_with("events.out.tfevents."); });
  return files;
}

}  // namespace

TEST_CASE("CRC-32C gives the check value of its specification") { CHECK(crc32c("123456789") == 0xE3069283U); }

TEST_CASE("Log writes JSON lines, a table and TensorBoard's events") {
  const Scratch scratch;
  Log log(scratch / "runs" / "mine");
  CHECK(log.path() == scratch / "runs" / "mine");
  log.write(0, {{"loss", full({}, 0.5)}, {"rate", 1}});
  log.write(10, {{"loss", 0.25}});
  log.write(10, {{"accuracy, held-out", 0.75}});
  log.write(20, {{"rate", NAN}, {"loss", 0.125}});
  CHECK(read_file(log.path() / "metrics.jsonl") ==
        "{\"step\":0,\"loss\":0.5,\"rate\":1.0}\n"
        "{\"step\":10,\"loss\":0.25,\"accuracy, held-out\":0.75}\n"
        "{\"step\":20,\"rate\":null,\"loss\":0.125}\n");
  CHECK(read_file(log.path() / "metrics.csv") ==
        "step,loss,rate,\"accuracy, held-out\"\n0,0.5,1,\n10,0.25,,0.75\n20,0.125,nan,\n");
  const auto files = event_files(log.path());
  REQUIRE(files.size() == 1);
  const std::vector<Event> events = read_events(files[0]);
  REQUIRE(events.size() == 5);
  CHECK(events[0].version == "brain.Event:2");
  CHECK(events[0].time > 1.7e9);
  CHECK(events[1].values == std::map<std::string, float>{{"loss", 0.5f}, {"rate", 1.0f}});
  CHECK(events[3].step == 10);
  CHECK(events[3].values == std::map<std::string, float>{{"accuracy, held-out", 0.75f}});
  CHECK(std::isnan(events[4].values.at("rate")));
  CHECK(Log(scratch / "runs" / "mine").path() == scratch / "runs" / "mine-2");
}

TEST_CASE("Log refuses what it could not read back") {
  const Scratch scratch;
  Log log(scratch / "mine");
  log.write(5, {{"loss", 1}});
  CHECK(message([&] { log.write(4, {{"loss", 1}}); }) == "Log: expected a step from 5 on, got 4");
  CHECK(message([&] { log.write(5, {{"loss", 1}}); }) == "Log: 'loss' was already written for step 5");
  CHECK(message([&] {
          log.write(6, {{"step", 1}});
        }) == "Log: 'step' is the first argument of write(); choose another name");
  CHECK(message([&] { log.write(6, {{"a\nb", 1}}); }).starts_with("Log: expected the name of a number, got "));
  CHECK(message([&] { log.write(6, {{"loss", zeros({2})}}); }).find("item") != std::string::npos);
  CHECK(read_file(log.path() / "metrics.jsonl") == "{\"step\":5,\"loss\":1.0}\n");
}

TEST_CASE("A log continues after a crash from any step on") {
  const Scratch scratch;
  const std::filesystem::path run = scratch / "mine";
  {
    Log log(run);
    for (int step = 0; step < 5; ++step) log.write(step, {{"loss", 1.0 / (1 + step)}});
  }
  const std::string before = read_file(run / "metrics.jsonl");
  write_file(run / "metrics.jsonl", before + "{\"step\":5,\"lo");  // cut off
  write_file(run / "metrics.csv", read_file(run / "metrics.csv") + "5,0.");
  {
    Log log(run, {.resume = 3});
    CHECK(log.path() == run);
    for (int step = 3; step < 6; ++step) log.write(step, {{"loss", 1.0 / (1 + step)}});
  }
  CHECK(read_file(run / "metrics.jsonl") == before + "{\"step\":5,\"loss\":0.16666666666666666}\n");
  CHECK(read_file(run / "metrics.csv") ==
        "step,loss\n0,1\n1,0.5\n2,0.3333333333333333\n3,0.25\n4,0.2\n5,0.16666666666666666\n");
  const auto files = event_files(run);
  REQUIRE(files.size() == 2);
  std::vector<Event> second = read_events(files[0]);
  if (!second.at(1).starts) second = read_events(files[1]);
  CHECK(second.at(1).starts);
  CHECK(second.at(1).step == 3);
  CHECK(second.size() == 5);
  CHECK(message([&] { Log(scratch / "none", {.resume = 3}); }, scratch.path.string()) ==
        "FILE/none: there is no log to continue at step 3; without resume, Log begins a new one");
}

TEST_CASE("A second Log of a directory is refused until the first has ended") {
  const Scratch scratch;
  const auto run = scratch / "mine";
  const auto refusal = [&] { return message([&] { Log(run, {.resume = 0}); }, scratch.path.string()); };
  const std::string expected =
      "FILE/mine: another Log writes to this directory; end it first (in Python: del log), or give each its own "
      "directory";
  {
    Log log(run);
    log.write(0, {{"loss", 1}});
    CHECK(refusal() == expected);
    const Log moved = std::move(log);
    CHECK(refusal() == expected);
    CHECK(read_file(run / "metrics.jsonl") == "{\"step\":0,\"loss\":1.0}\n");
  }
  CHECK(refusal() == "no error");
}

TEST_CASE("A log that resumes at step 0 takes the place of one whose run ended before it saved") {
  const Scratch scratch;
  const auto run = scratch / "runs" / "mine";
  for (const double loss : {3.0, 2.0}) {
    Log log(run, {.resume = 0});
    CHECK(log.path() == run);
    log.write(0, {{"loss", loss}});
    if (loss == 3) log.write(1, {{"loss", loss}});
  }
  const std::vector<LogLine> lines = read_log(run);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].values == std::vector<std::pair<std::string, double>>{{"loss", 2}});
  CHECK(read_file(run / "metrics.csv") == "step,loss\n0,2\n");
}

TEST_CASE("Log writes norms, dead units and the size of updates") {
  const Scratch scratch;
  Parameters parameters;
  const Linear layer(Scope(parameters, 1) / "in", 2, 2, {.init = Init::constant(1)});
  assign(layer.bias, tensor({2}, {0, -9}));  // the second unit is never active
  Log log(scratch / "mine");
  Optimizer sgd(parameters, {.method = OptimizerOptions::Method::sgd});
  {
    const Recording recording;
    const Gradients gradients = backward(sum(relu(layer(ones({1, 2})))));
    log.write_gradients(0, parameters, gradients);
    log.write_updates(0, parameters, [&] { sgd.step(gradients, 0.5); });
  }
  std::map<std::string, double> values;
  const std::vector<LogLine> lines = read_log(log.path());
  REQUIRE(lines.size() == 1);
  for (const auto& [name, value] : lines[0].values) values[name] = value;
  CHECK(values.at("norm/in.weight") == 2);
  CHECK(values.at("gradient/in.weight") == Approx(std::sqrt(2)));
  CHECK(values.at("dead/in.weight") == 0.5);
  CHECK(values.at("dead/in.bias") == 0.5);
  CHECK(values.at("update/in.weight") == Approx(0.5 * std::sqrt(2) / 2));
  CHECK(values.at("update/in.bias") == Approx(0.5 / 9));
}

TEST_CASE("read_log leaves out a last line that was cut off, and no other") {
  const Scratch scratch;
  const std::filesystem::path file = scratch / "metrics.jsonl";
  write_file(file, "{\"step\":1,\"a\":2}\n{\"step\":2,\"a");
  CHECK(read_log(scratch.path).size() == 1);
  write_file(file, "{\"step\":1,\"a\":2}\n{\"step\":2,\"a\":3}");
  CHECK(read_log(scratch.path).size() == 2);
  write_file(file, "{\"st\n{\"step\":2}\n");
  CHECK_THROWS_AS(read_log(scratch.path), Error);
  write_file(file, "{\"st");
  CHECK(read_log(scratch.path).empty());
}

#include "inspect/page/encode.h"

#include "tests/catch.h"
#include "tests/message.h"

#include <heed/autograd/ops.h>

#include <cmath>

using namespace heed;

namespace {

// Decodes pack_weights().
std::vector<double> unpacked(const std::string& bytes) {
  std::vector<double> values;
  for (std::size_t at = 0; at < bytes.size();) {
    const int byte = static_cast<unsigned char>(bytes[at++]);
    const auto next = [&] { return static_cast<int>(static_cast<unsigned char>(bytes[at++])); };
    if (byte == 254) {
      values.insert(values.end(), static_cast<std::size_t>(next()) + 3, 0.5e-4);
    } else {
      values.push_back((byte < 215 ? byte + 0.5 : 215 + (byte - 215) * 256 + next() + 0.5) / 10'000);
    }
  }
  return values;
}

}  // namespace

TEST_CASE("base64 follows RFC 4648, and from_hex refuses invalid digits") {
  CHECK(base64("") == "");
  CHECK(base64("f") == "Zg==");
  CHECK(base64("fo") == "Zm8=");
  CHECK(base64("foo") == "Zm9v");
  CHECK(base64("foobar") == "Zm9vYmFy");
  CHECK(base64(std::string("\0\xff\xfb\xef", 4)) == "AP/77w==");
  CHECK(from_hex("00ff7A") == std::string("\0\xffz", 3));
  CHECK(message([] { from_hex("0g"); }) == "from_hex: '0g' is not hexadecimal");
  CHECK(message([] { from_hex("000"); }) == "from_hex: '000' has an odd number of digits");
}

TEST_CASE("float32_bytes and float16_bytes write little-endian numbers") {
  const std::vector<float> numbers{1.0F, -2.5F, 1.0F / 3, 0, 1e-7F, 1e6F};
  CHECK(float32_bytes(numbers).substr(0, 8) == std::string("\0\0\x80\x3f\0\0\x20\xc0", 8));
  CHECK(float16_bytes(numbers) == std::string("\0\x3c\0\xc1\x55\x35\0\0\x02\0\0\x7c", 12));
}

TEST_CASE("pack_weights keeps the first three printed decimals of weights") {
  std::vector<double> weights{0, 1, 0.0005, 0.02149, 0.0215, 0.99949, 0.9995, 1.0 / 3, 0.995, 0.985, 0.49995};
  for (int i = 0; i < 2000; ++i) weights.push_back(std::pow(std::abs(std::sin(i * 1.3)), 1 + i % 7));
  for (int i = 0; i <= 16; ++i)
    weights.push_back(i / 16.0);  // in the middle of two printed numbers, as fmt rounds to even
  weights.insert(weights.end(), 600, 0.0);
  weights.push_back(0.7);
  const Tensor tensor_of = tensor({static_cast<std::int64_t>(weights.size())}, weights);
  const std::vector<double> back = unpacked(pack_weights(tensor_of)), floats = tensor_of.to_vector();
  REQUIRE(back.size() == weights.size());
  for (std::size_t i = 0; i < back.size(); ++i) {
    INFO(weights[i]);
    CHECK(std::abs(back[i] - floats[i]) <= 0.5001e-4);
    for (const int decimals : {1, 2, 3}) {
      CHECK(fmt::format("{:.{}f}", back[i], decimals) == fmt::format("{:.{}f}", floats[i], decimals));
    }
  }
  CHECK(pack_weights(zeros({1000})).size() == 8);
}

#include "files/digest.h"
#include "tests/catch.h"
#include "tests/message.h"
#include "tests/scratch.h"

#include <heed/autograd/ops.h>
#include <heed/autograd/random.h>
#include <heed/files/file.h>
#include <heed/formats/safetensors.h>

#include <cmath>
#include <limits>

using namespace heed;

namespace {

SafeTensors small() {
  SafeTensors content;
  content.tensors = {{"W_Q.weight", tensor({2, 3}, {1, -2, 3, 0.1, 5, 6})},
                     {"注意", tensor({2}, {1e-300, 2}, DType::float64)},
                     {"scalar", tensor({}, {7})},
                     {"empty", zeros({3, 0})}};
  content.metadata = {{"step", "12"}, {"a\"b", "一\n二"}};
  return content;
}

// Returns the bytes of a file with this header and `size` zero bytes of data.
std::string file_of(const std::string& header, std::size_t size) {
  const std::uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), 8) + header + std::string(size, '\0');
}

}  // namespace

TEST_CASE("Tensors and metadata are read back bit for bit, in their order") {
  const Scratch scratch;
  SafeTensors content = small();
  const double infinity = std::numeric_limits<double>::infinity();
  content.tensors.emplace_back("special", tensor({3}, {infinity, -0.0, std::nan("")}));
  content.tensors.emplace_back("view", transpose(content["W_Q.weight"]));
  write_safetensors(scratch / "a", content);
  const SafeTensors read = read_safetensors(scratch / "a");

  CHECK(read.metadata == content.metadata);
  REQUIRE(read.tensors.size() == content.tensors.size());
  for (std::size_t i = 0; i < read.tensors.size(); ++i) {
    const auto& [name, tensor] = read.tensors[i];
    CHECK(name == content.tensors[i].first);
    CHECK(tensor.dtype() == content.tensors[i].second.dtype());
    CHECK(tensor.shape() == content.tensors[i].second.shape());
    if (name != "special") CHECK(tensor.to_vector() == content.tensors[i].second.to_vector());
  }
  const Tensor special = read["special"];
  CHECK(special.at({0}) == infinity);
  CHECK(std::signbit(special.at({1})));
  CHECK(std::isnan(special.at({2})));
  CHECK(read["view"].to_vector() == std::vector<double>{1, tensor({}, {0.1}).item(), -2, 5, 3, 6});

  write_safetensors(scratch / "b", read);
  CHECK(read_file(scratch / "a") == read_file(scratch / "b"));
  CHECK(message([&] { read["W_K.weight"]; }) ==
        "safetensors: no tensor 'W_K.weight' among 6 (did you mean 'W_Q.weight'?)");
}

TEST_CASE("write_safetensors writes the bytes of the format") {
  const Scratch scratch;
  for (std::size_t digits = 1; digits <= 8; ++digits) {  // every length of padding
    SafeTensors content;
    content.tensors = {{"x", tensor({2}, {1, 2})}};
    content.metadata = {{"step", std::string(digits, '3')}};
    write_safetensors(scratch / "a", content);
    const auto header_with = [&](const std::string& digest) {
      std::string header = R"({"__metadata__":{"step":")" + content.metadata["step"] + R"(","heed.digest":")" + digest +
                           R"("},"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
      while (header.size() % 8 != 0) header += ' ';
      return header;
    };
    const std::string data("\0\0\x80\x3f\0\0\0\x40", 8);
    const std::string header = header_with(hexadecimal(xxh64(data, xxh64(header_with(std::string(16, '0'))))));
    const std::string length{static_cast<char>(header.size()), 0, 0, 0, 0, 0, 0, 0};
    CHECK(read_file(scratch / "a") == length + header + data);
  }
}

TEST_CASE("parse_safetensors converts half precision, integers and booleans to floats and lists them") {
  std::string file = file_of(R"({"half":{"dtype":"F16","shape":[7],"data_offsets":[0,14]},)"
                             R"("brain":{"dtype":"BF16","shape":[2],"data_offsets":[14,18]},)"
                             R"("long":{"dtype":"I64","shape":[2],"data_offsets":[18,34]},)"
                             R"("int":{"dtype":"I32","shape":[1],"data_offsets":[34,38]},)"
                             R"("byte":{"dtype":"U8","shape":[1],"data_offsets":[38,39]},)"
                             R"("bool":{"dtype":"BOOL","shape":[1],"data_offsets":[39,40]}})",
                             0);
  const std::uint16_t half[] = {0x3c00, 0xc000, 0x7bff, 0x0001, 0xfc00, 0x7e00, 0x8400}, brain[] = {0x3f80, 0xc049};
  const std::int64_t numbers[] = {-3, 1099511627777};
  const std::int32_t number = -70000;
  file.append(reinterpret_cast<const char*>(half), sizeof half);
  file.append(reinterpret_cast<const char*>(brain), sizeof brain);
  file.append(reinterpret_cast<const char*>(numbers), sizeof numbers);
  file.append(reinterpret_cast<const char*>(&number), sizeof number);
  file += "\xff\x01";
  const SafeTensors read = parse_safetensors(file, "a");
  const std::vector<double> halves = read["half"].to_vector();
  CHECK(std::vector<double>(halves.begin(), halves.begin() + 4) == std::vector<double>{1, -2, 65504, 0x1p-24});
  CHECK((std::isinf(halves[4]) && halves[4] < 0 && std::isnan(halves[5]) && halves[6] == -0x1p-14));
  CHECK(read["brain"].to_vector() == std::vector<double>{1, -3.140625});
  CHECK(read["long"].to_vector() == std::vector<double>{-3, 1099511627777});
  CHECK(read["int"].to_vector() == std::vector<double>{-70000});
  CHECK(read["byte"].to_vector() == std::vector<double>{255});
  CHECK(read["bool"].to_vector() == std::vector<double>{1});
  CHECK(read.converted == std::vector<std::string>{"half: F16 as float32", "brain: BF16 as float32",
                                                   "long: I64 as float64", "int: I32 as float64", "byte: U8 as float32",
                                                   "bool: BOOL as float32"});
  CHECK(
      parse_safetensors(file_of(R"({"x":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})", 4), "a").converted.empty());
}

TEST_CASE("16-bit types store the nearest number, ties to even, and read it back exactly") {
  const Scratch scratch;
  SafeTensors content;
  const double infinity = std::numeric_limits<double>::infinity();
  // 2049 and 2051 lie halfway between two numbers of F16 and are rounded to the even one
  content.tensors = {{"x", tensor({9}, {1, 2049, 2051, -0.1, 65519, 65504, 3e-8, infinity, std::nan("")})}};
  write_safetensors(scratch / "half", content, StoredAs::F16);
  write_safetensors(scratch / "brain", content, StoredAs::BF16);
  const std::vector<double> half = read_safetensors(scratch / "half")["x"].to_vector();
  CHECK(std::vector<double>(half.begin(), half.begin() + 8) ==
        std::vector<double>{1, 2048, 2052, -0.0999755859375, 65504, 65504, 0x1p-24, infinity});
  CHECK(std::isnan(half[8]));
  const std::vector<double> brain = read_safetensors(scratch / "brain")["x"].to_vector();
  CHECK(std::vector<double>(brain.begin(), brain.begin() + 6) ==
        std::vector<double>{1, 2048, 2048, -0.10009765625, 65536, 65536});
  CHECK((brain[7] == infinity && std::isnan(brain[8])));
  SafeTensors every;  // each 16-bit number except NaN is stored unchanged
  for (const StoredAs stored : {StoredAs::F16, StoredAs::BF16}) {
    const bool is_half = stored == StoredAs::F16;
    std::string all = file_of(
        fmt::format(R"({{"x":{{"dtype":"{}","shape":[65536],"data_offsets":[0,131072]}}}})", is_half ? "F16" : "BF16"),
        0);
    for (std::uint32_t bits = 0; bits < 65536; ++bits) {
      const bool nan = is_half ? (bits & 0x7fff) > 0x7c00 : (bits & 0x7fff) > 0x7f80;
      const std::uint16_t kept = nan ? 0 : static_cast<std::uint16_t>(bits);
      all.append(reinterpret_cast<const char*>(&kept), sizeof kept);
    }
    every.tensors = parse_safetensors(all, "a").tensors;
    write_safetensors(scratch / "every", every, stored);
    const std::string written = read_file(scratch / "every");
    CHECK(written.substr(written.size() - 131072) == all.substr(all.size() - 131072));
  }
}

TEST_CASE("write_safetensors rejects finite numbers that would become infinite in 16 bits") {
  const Scratch scratch;
  const double largest = std::numeric_limits<float>::max(), infinity = std::numeric_limits<double>::infinity();
  const auto said = [&](double value, DType dtype, StoredAs stored) {
    SafeTensors content;
    content.tensors = {{"W", tensor({2, 2}, {0, -infinity, value, std::nan("")}, dtype)}};
    return message([&] { write_safetensors(scratch / "a", content, stored); }, scratch.path.string());
  };
  for (const DType dtype : {DType::float32, DType::float64}) {
    CAPTURE(to_string(dtype));
    CHECK(
        said(1e6, dtype, StoredAs::F16) ==
        "FILE/a: tensor 'W': value 2 (from 0) is 1000000, which F16 cannot hold: its largest is 65504; choose BF16 or "
        "as_it_is");
    CHECK(said(-65520, dtype, StoredAs::F16).starts_with("FILE/a: tensor 'W': value 2 (from 0) is -65520, which F16 "));
    CHECK(said(largest, dtype, StoredAs::BF16)
              .ends_with(", which BF16 cannot hold: its largest is 3.3895e+38; choose as_it_is"));
    CHECK(scratch.files() == 0);
  }
  CHECK(said(1e300, DType::float64, StoredAs::BF16).starts_with("FILE/a: tensor 'W': value 2 (from 0) is 1e+300, "));
  for (const DType dtype : {DType::float32, DType::float64}) {
    CHECK(said(65519, dtype, StoredAs::F16) == "no error");
    CHECK(said(3.38e38, dtype, StoredAs::BF16) == "no error");
    CHECK(read_safetensors(scratch / "a")["W"].at({0, 1}) == -infinity);
    CHECK(said(largest, dtype, StoredAs::as_it_is) == "no error");
    CHECK(read_safetensors(scratch / "a")["W"].at({1, 0}) == largest);
  }
  CHECK(said(1e300, DType::float64, StoredAs::as_it_is) == "no error");
  CHECK(read_safetensors(scratch / "a")["W"].at({1, 0}) == 1e300);
}

TEST_CASE("write_safetensors rounds float64 to 16 bits in one step") {
  const Scratch scratch;
  SafeTensors content;  // both lie just above the middle of two 16-bit numbers; float32 would round them to the middle
  content.tensors = {{"x", tensor({2}, {1 + 0x1p-11 + 0x1p-40, -(1 + 0x1p-8 + 0x1p-40)}, DType::float64)}};
  write_safetensors(scratch / "half", content, StoredAs::F16);
  write_safetensors(scratch / "brain", content, StoredAs::BF16);
  CHECK(read_safetensors(scratch / "half")["x"].at({0}) == 1 + 0x1p-10);
  CHECK(read_safetensors(scratch / "brain")["x"].at({1}) == -(1 + 0x1p-7));
}

TEST_CASE("The digest detects every flipped bit of a safetensors file") {
  const Scratch scratch;
  write_safetensors(scratch / "a", small());
  std::string bytes = read_file(scratch / "a");
  CHECK(parse_safetensors(bytes, "a").has_digest);
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
    const std::string told = message([&] { parse_safetensors(bytes, "a"); });
    INFO("bit " << bit);
    CHECK(told.starts_with("a: "));
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
  }
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  CHECK(message([&] {
          parse_safetensors(bytes, "a");
        }).starts_with("a: the file is damaged: its bytes do not match its digest"));
}

TEST_CASE("Files without a digest are read, and metadata may look like a digest") {
  const SafeTensors read = parse_safetensors(
      file_of(R"({"__metadata__":{"by":"another"},"x":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})", 4), "a");
  CHECK_FALSE(read.has_digest);
  CHECK(read["x"].item() == 0);
  const Scratch scratch;
  SafeTensors content = small();
  content.metadata = {{"a", "heed.digest"},
                      {"heed.digest", "mine"},
                      {"need.digest", "mine, too"},
                      {"z", R"("heed.digest":"0000000000000000")"}};
  write_safetensors(scratch / "a", content);
  content.metadata.erase("heed.digest");
  CHECK(read_safetensors(scratch / "a").metadata == content.metadata);
}

TEST_CASE("write_safetensors rejects invalid names before it writes anything") {
  const Scratch scratch;
  const auto said = [&](const std::string& first, const std::string& second) {
    SafeTensors content;
    content.tensors = {{first, zeros({1})}, {second, zeros({1})}};
    return message([&] { write_safetensors(scratch / "a", content); });
  };
  const std::string path = (scratch / "a").string();
  CHECK(said("x", "x") == path + ": tensor name 'x' is given twice");
  CHECK(said("x", "__metadata__") == path + ": tensor name '__metadata__' is reserved");
  CHECK(said("x", "\xff") == path + ": names and metadata cannot be written as JSON: a string is not UTF-8");
  CHECK(scratch.files() == 0);
}

TEST_CASE("write_safetensors enforces the limits of read_safetensors") {
  const Scratch scratch;
  SafeTensors content;
  const Tensor nothing = zeros({0});
  for (int i = 0; i < 19'999; ++i) content.tensors.emplace_back(std::to_string(i), nothing);
  for (int i = 0; i < 19'999; ++i) content.metadata[std::to_string(i)] = "";
  const auto said = [&] { return message([&] { write_safetensors(scratch / "a", content); }, scratch.path.string()); };
  CHECK(said() == "no error");
  CHECK(read_safetensors(scratch / "a").tensors.size() == 19'999);
  std::filesystem::remove(scratch / "a");
  content.tensors.emplace_back("one more", nothing);
  CHECK(said() == "FILE/a: expected at most 19999 tensors in one file, got 20000; use several files");
  content.tensors.clear();
  content.metadata["one more"] = "";
  CHECK(said() == "FILE/a: expected at most 19999 entries of metadata in one file, got 20000; use several files");
  content.metadata = {{"long", std::string(100'000'000, 'x')}};
  CHECK(said() == "FILE/a: names and metadata take 100000064 bytes; expected at most 100000000 in a header");
  CHECK(scratch.files() == 0);
}

TEST_CASE("read_safetensors rejects a file truncated at any byte") {
  const Scratch scratch;
  write_safetensors(scratch / "whole", small());
  const std::string bytes = read_file(scratch / "whole");
  const std::string path = (scratch / "cut").string();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    write_file(path, std::string_view(bytes).substr(0, size));
    CAPTURE(size);
    const std::string said = message([&] { read_safetensors(path); });
    CHECK(said.starts_with(path + ": not a safetensors file: "));
    CHECK(said.ends_with(" Is it truncated?"));
  }
  write_file(path, bytes + '\0');
  CHECK(message([&] { read_safetensors(path); }) ==
        path + ": not a safetensors file: 45 bytes of data, but its tensors cover 44");
}

TEST_CASE("A damaged file with a digest is always rejected; without one it is read or rejected") {
  const Scratch scratch;
  write_safetensors(scratch / "whole", small());
  const std::string with_digest = read_file(scratch / "whole");
  const std::string without = file_of(R"({"W_Q.weight":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
                                      R"("bias":{"dtype":"F64","shape":[16],"data_offsets":[24,152]}})",
                                      152);
  for (const std::string& bytes : {with_digest, without}) {
    Random random(1);
    int broken_files = 0, refused = 0;
    for (int i = 0; i < 3000; ++i) {
      std::string broken = bytes;
      for (std::int64_t flips = random.below(4); flips >= 0; --flips) {
        broken[static_cast<std::size_t>(random.below(std::ssize(broken)))] = static_cast<char>(random.below(256));
      }
      broken_files += broken != bytes;
      refused += message([&] { parse_safetensors(broken, "broken"); }) != "no error";
    }
    CHECK(broken_files > 2900);
    if (bytes == with_digest) {
      CHECK(refused == broken_files);
    } else {
      CHECK(refused > 1000);
      CHECK(refused < broken_files);
    }
  }
}

TEST_CASE("parse_safetensors names each kind of error in a header") {
  const auto said = [](const std::string& header, std::size_t size = 8) {
    return message([&] { parse_safetensors(file_of(header, size), "f"); });
  };
  const auto x = [&](const std::string& fields) { return said("{\"x\":{" + fields + "}}"); };
  const std::string f = "f: not a safetensors file: ";

  CHECK(said(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}  )") == "no error");
  CHECK(said("{}", 0) == "no error");
  CHECK(said("") == f + "the header must begin with '{'");
  CHECK(said("[]") == f + "the header must begin with '{'");
  CHECK(said("{\"x\":}").starts_with(f + "the header: not JSON at byte 6: "));
  CHECK(said("{\"\xff\":1}").starts_with(f + "the header: not JSON at byte 3: "));
  CHECK(x(R"("dtype":"F32","dtype":"F64")") == f + "the header: key 'dtype' occurs twice");
  CHECK(said("{\"x\":" + std::string(100'000, '[')) == f + "the header: nested deeper than 3 levels");
  CHECK(said(R"({"__metadata__":["step"]})") == f + "__metadata__ must be an object of strings, got array");
  CHECK(said(R"({"__metadata__":{"step":3}})") == f + "__metadata__ 'step' must be a string, got number");
  CHECK(said(R"({"x":3})") == f + "tensor 'x' must be an object, got number");
  CHECK(x(R"("shape":[2],"data_offsets":[0,8])") == f + "tensor 'x': the field dtype is missing");
  CHECK(x(R"("dtype":"F32","data_offsets":[0,8])") == f + "tensor 'x': the field shape is missing");
  CHECK(x(R"("dtype":"F32","shape":[2])") == f + "tensor 'x': the field data_offsets is missing");
  CHECK(x(R"("dtype":"F32","shape":[2],"data_offsets":[0,8],"a":0)") == f + "tensor 'x': unknown field 'a'");
  const std::string types = "f: tensor 'x': dtype must be F32, F64, F16, BF16, I64, I32, U8 or BOOL, got ";
  CHECK(x(R"("dtype":"F8_E4M3","shape":[8],"data_offsets":[0,8])") == types + "\"F8_E4M3\"");
  CHECK(x(R"("dtype":4,"shape":[4],"data_offsets":[0,8])") == types + "4");
  CHECK(x(R"("dtype":"BF16","shape":[5],"data_offsets":[0,8])") ==
        f + "tensor 'x': shape (5) of BF16 needs 10 bytes, data_offsets give 8");
  CHECK(x(R"("dtype":"F32","shape":2,"data_offsets":[0,8])") == f + "tensor 'x': shape must be a list, got number");
  const std::string integers = " must hold integers from 0 to 9223372036854775807, got ";
  CHECK(x(R"("dtype":"F32","shape":[-2],"data_offsets":[0,8])") == f + "tensor 'x': shape" + integers + "-2");
  CHECK(x(R"("dtype":"F32","shape":[2.0],"data_offsets":[0,8])") == f + "tensor 'x': shape" + integers + "2.0");
  CHECK(x(R"("dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,8])") ==
        f + "tensor 'x': shape" + integers + "18446744073709551615");
  CHECK(x(R"("dtype":"F32","shape":[2],"data_offsets":[0,"8"])") ==
        f + "tensor 'x': data_offsets" + integers + "\"8\"");
  CHECK(x(R"("dtype":"F32","shape":[2],"data_offsets":[0])") == f + "tensor 'x': expected 2 data_offsets, got 1");
  CHECK(x(R"("dtype":"F32","shape":[2],"data_offsets":[8,0])") ==
        f + "tensor 'x': data_offsets [8, 0] are outside the 8 bytes of data. Is it truncated?");
  CHECK(x(R"("dtype":"F32","shape":[3],"data_offsets":[0,12])") ==
        f + "tensor 'x': data_offsets [0, 12] are outside the 8 bytes of data. Is it truncated?");
  CHECK(x(R"("dtype":"F32","shape":[1],"data_offsets":[0,8])") ==
        f + "tensor 'x': shape (1) of F32 needs 4 bytes, data_offsets give 8");
  CHECK(x(R"("dtype":"F32","shape":[4294967296,4294967296,4],"data_offsets":[0,8])") ==
        f + "tensor 'x': shape (4294967296, 4294967296, 4) overflows");
  for (const char* shape : {"4611686018427387904,0,4611686018427387904", "0,4611686018427387904,4611686018427387904"}) {
    CHECK(x(fmt::format(R"("dtype":"F32","shape":[{}],"data_offsets":[0,0])", shape)).ends_with(") overflows"));
  }
  CHECK(x(R"("dtype":"F32","shape":[1,1,1,1,1,1,1,1,2],"data_offsets":[0,8])") ==
        "f: tensor 'x' has 9 axes: at most 8 are supported");
  const std::string rule = ": tensors must not overlap or leave gaps";
  const std::string a =
      R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":)";
  CHECK(said(a + "[0,4]}}") == f + "tensor 'b' begins at byte 0 of the data, expected 4" + rule);
  CHECK(said(a + "[2,6]}}") == f + "tensor 'b' begins at byte 2 of the data, expected 4" + rule);
  CHECK(said(a + "[5,9]}}", 12) == f + "tensor 'b' begins at byte 5 of the data, expected 4" + rule);
  CHECK(said(a + "[4,8]}}", 12) == f + "12 bytes of data, but its tensors cover 8");

  CHECK(said("{\"" + std::string(1000, 'n') + "\\u001b\":3}") ==
        f + "tensor '" + std::string(59, 'n') + "…' must be an object, got number");
  CHECK(said("{\"a\\u001b\\u202e\":3}") == f + "tensor 'a␛⟨U+202E⟩' must be an object, got number");

  const std::string huge{'\xff', '\xff', '\xff', '\xff', '\xff', '\xff', '\xff', '\xff'};
  CHECK(message([&] { parse_safetensors(huge, "f"); }) ==
        f + "header length 18446744073709551615 is above the limit of 100000000 bytes. Is it a file of another kind?");
  CHECK(message([&] { parse_safetensors("<!DOCTYPE html>\n", "f"); }) ==
        f + "expected the length of a header in its first 8 bytes, got the text '<!DOCTYP'");
  CHECK(message([&] { parse_safetensors(std::string("PK\x03\x04\0\0\x08\x08", 8), "f"); }) ==
        f + "it is a ZIP archive, as torch.save() writes");
  CHECK(message([&] { parse_safetensors(std::string("\x05\0\0\0\0\0\0\0{}", 10), "f"); }) ==
        f + "expected a header of 5 bytes, got 2. Is it truncated?");
}

#include "formats/internal/zip.h"
#include "tests/catch.h"
#include "tests/message.h"
#include "tests/scratch.h"

#include <heed/autograd/ops.h>
#include <heed/files/file.h>
#include <heed/formats/numpy.h>

using namespace heed;

namespace {

std::filesystem::path numpy_golden(const std::string& name) { return "tests/golden/numpy/" + name; }

// The values of tests/golden/make_numpy.py.
std::vector<double> numpy_values(double shift) {
  std::vector<double> values;
  for (int i = 0; i < 24; ++i) values.push_back(100 * (i / 12) + 10 * (i / 4 % 3) + i % 4 + shift);
  return values;
}

std::string npy(const std::string& header, const std::string& data) {
  std::string text = "\x93NUMPY\x01";
  text += '\0';
  text += static_cast<char>(header.size());
  text += '\0';
  return text + header + data;
}

std::string npy_refusal(const std::string& bytes) {
  return message([&] { parse_npy(bytes, "x.npy"); });
}

}  // namespace

TEST_CASE("read_npy reads NumPy's types, orders and versions") {
  for (const std::string name : {"float16", "float32", "float64", "big_float32", "big_int16", "int8", "int32", "int64",
                                 "fortran", "version2", "uint8", "uint16", "uint32", "uint64"}) {
    CAPTURE(name);
    const Tensor x = read_npy(numpy_golden(name + ".npy"));
    CHECK(x.shape() == Shape{2, 3, 4});
    CHECK(x.to_vector() == numpy_values(name.starts_with("u") ? 0 : -5));
    const bool is_double =
        name == "float64" || name == "fortran" || (name.find("int") != std::string::npos && !name.ends_with("int8"));
    CHECK((x.dtype() == DType::float64) == is_double);
    if (name.find("int") == std::string::npos) continue;
    const Ids ids = read_npy_ids(numpy_golden(name + ".npy"));
    CHECK(std::vector<double>(ids.begin(), ids.end()) == x.to_vector());
  }
  CHECK(read_npy(numpy_golden("bool.npy")).to_vector()[1] == 1);
  CHECK(read_npy(numpy_golden("scalar.npy")).item() == 2.5);
  CHECK(read_npy(numpy_golden("empty.npy")).shape() == Shape{0, 3});
}

TEST_CASE("read_npz reads stored and deflated arrays") {
  for (const char* name : {"stored.npz", "deflated.npz"}) {
    const NumpyArrays arrays = read_npz(numpy_golden(name));
    REQUIRE(arrays.size() == 2);
    CHECK(arrays["x"].to_vector() == numpy_values(-5));
    CHECK(message([&] { static_cast<void>(arrays["X"]); }) == "read_npz: no array 'X' among 2 (did you mean 'x'?)");
    CHECK(arrays[0].first == "x");
    CHECK(arrays[0].second.to_vector() == numpy_values(-5));
    CHECK(arrays[1].second.shape() == Shape{1000});
    CHECK(arrays[1].second.at({999}) == 999 % 7);
  }
}

TEST_CASE("Arrays survive writing and reading") {
  const Scratch scratch;
  const Tensor x = transpose(tensor({2, 3}, {1, 2, 3, 4, 5, 6.5}));
  write_npy(scratch / "x.npy", x);
  CHECK(read_file(scratch / "x.npy").size() == 128 + 24);
  CHECK(read_npy(scratch / "x.npy").to_vector() == x.to_vector());
  write_npy(scratch / "h.npy", x.to(DType::float16));
  CHECK(read_file(scratch / "h.npy").size() == 128 + 12);
  CHECK(read_npy(scratch / "h.npy").to_vector() == x.to_vector());
  write_npy(scratch / "ids.npy", Ids({3}, {5, -1, 7}));
  const Ids ids = read_npy_ids(scratch / "ids.npy");
  CHECK(std::vector(ids.begin(), ids.end()) == std::vector<std::int32_t>{5, -1, 7});
  write_npy(scratch / "b.npy", Booleans({2}, {2, 0}));
  CHECK(read_npy(scratch / "b.npy").to_vector() == std::vector<double>{1, 0});
  write_npz(scratch / "all.npz", {{"x", x}, {"empty", zeros({0, 2}, DType::float64)}, {"scalar", ones({})}});
  const NamedTensors all = read_npz(scratch / "all.npz");
  REQUIRE(all.size() == 3);
  CHECK(all[0].second.to_vector() == x.to_vector());
  CHECK(all[1].second.shape() == Shape{0, 2});
  CHECK(all[2].second.item() == 1);
  CHECK(message([&] { write_npy(scratch / "y.npy", x.to(DType::bfloat16)); }) ==
        "write_npy: NumPy has no type bfloat16; write x.to(DType::float32), or x.clone() of a type of blocks");
  CHECK(message([&] {
          write_npz(scratch / "y.npz", {{"x", x}, {"x", x}});
        }) == "write_npz: expected names that differ, of 1 to 1000 bytes, got 'x'");
}

TEST_CASE("read_npy says why it rejects a file") {
  const auto of_file = [](const char* name) {
    return message([&] { parse_npy(read_file(numpy_golden(name)), "x.npy"); });
  };
  CHECK(of_file("objects.npy") ==
        "x.npy: the array holds Python objects, which only Python can read; save numbers, x.astype('float32')");
  CHECK(of_file("records.npy") == "x.npy: the array holds records; save each of its fields, x['field']");
  CHECK(of_file("complex.npy") ==
        "x.npy: elements of type '<c8' are not supported; expected floating-point numbers of 2, 4 or 8 bytes, integers "
        "or booleans");
  CHECK(npy_refusal("hello") == "x.npy: is not a .npy file: it does not begin with \\x93NUMPY");
  const std::string whole = read_file(numpy_golden("float32.npy"));
  CHECK(npy_refusal(whole.substr(0, 9)) == "x.npy: the .npy file was cut off within its header");
  CHECK(npy_refusal(whole.substr(0, 100)) == "x.npy: the .npy file was cut off within its header");
  CHECK(npy_refusal(whole.substr(0, whole.size() - 1)) ==
        "x.npy: shape (2, 3, 4) needs 24 elements of 4 bytes, but the file has 95 bytes of them");
  CHECK(npy_refusal(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4), }", ""))
            .find("2^63") != std::string::npos);
  CHECK(npy_refusal(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,), }", "abcd")) ==
        "x.npy: shape (1000000000000) needs 1000000000000 elements of 4 bytes, but the file has 4 bytes of them");
  for (const char* header :
       {"{'descr': '<f4', 'fortran_order': False, }", "{'descr': '<f4', 'shape': (-1,), 'fortran_order': False}",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': (1,), }",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,), }"}) {
    CHECK(npy_refusal(npy(header, "abcd")).starts_with("x.npy: damaged header of a .npy file: "));
  }
  CHECK(npy_refusal(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1), }", "abcd")) ==
        "x.npy: the array has more than 8 axes");
  CHECK(message([&] { parse_npy_ids(whole, "x.npy"); }) ==
        "x.npy: expected integers, got floating-point numbers; read_npy() reads them");
  CHECK(message([&] {
          parse_npy_ids(
              npy("{'descr': '<i8', 'fortran_order': False, 'shape': (1,), }", std::string("\0\0\0\0\1\0\0\0", 8)),
              "x.npy");
        }) == "x.npy: 4294967296 does not fit in 32 bits");
}

TEST_CASE("read_npz rejects damaged archives and those that would fill the memory") {
  const std::string whole = read_file(numpy_golden("deflated.npz"));
  const auto said = [](const std::string& bytes) { return message([&] { parse_npz(bytes, "x.npz"); }); };
  CHECK(said(whole) == "no error");
  CHECK(said(whole.substr(0, whole.size() - 30)) ==
        "x.npz: damaged ZIP archive: its directory is missing; was the file cut off, or is it of another kind?");
  std::string changed = whole;
  changed[60] = static_cast<char>(changed[60] ^ 1);
  CHECK(said(changed).starts_with("x.npz: damaged ZIP archive: "));
  std::string bomb = whole;  // the first entry of the directory claims 1 GB
  const std::size_t entry = bomb.find("PK\x01\x02");
  bomb.replace(entry + 24, 4, std::string("\0\0\0\x40", 4));
  CHECK(said(bomb).find("' cannot have 1073741824 bytes, with ") != std::string::npos);
  const std::string two =
      write_zip({{"a.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", "1234")},
                 {"b.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", "1234")}});
  CHECK(said(two) == "no error");
  for (const char counted : {'\0', '\1'}) {  // of the two files
    std::string fewer = two;
    const std::size_t end = fewer.rfind("PK\x05\x06");
    fewer[end + 8] = fewer[end + 10] = counted;
    CHECK(said(fewer) == fmt::format("x.npz: damaged ZIP archive: its directory counts {}, but has more",
                                     counted == 1 ? "1 file" : "0 files"));
    const std::size_t second = fewer.rfind("PK\x01\x02");  // becomes the directory's begin, or its end
    if (counted == 1) {
      std::string last = fewer;
      for (std::size_t i = 0; i < 4; ++i) last[end + 16 + i] = static_cast<char>(second >> (8 * i));
      CHECK(said(last) == "x.npz: damaged ZIP archive: it has a file at byte 0 that its directory does not have");
      fewer.erase(second, end - second);
      CHECK(said(fewer).starts_with("x.npz: damaged ZIP archive: it has a file at byte "));
    }
  }
  std::string huge = whole;  // the entries of its directory claim 1 TB in ZIP64's field of their own
  const std::string tera("\x01\0\x08\0\0\0\0\0\0\1\0\0", 12);
  huge.replace(entry + 24, 4, "\xFF\xFF\xFF\xFF");
  huge[entry + 30] = 12;
  huge.insert(entry + 46 + static_cast<unsigned char>(huge[entry + 28]), tera);
  CHECK(said(huge).find("GB or more when decompressed, but this machine's memory is ") != std::string::npos);
  std::string shared = write_zip({{"a.npy", "aaaa"}, {"b.npy", "bbbb"}});  // both claim all bytes
  std::size_t at = shared.find("PK\x01\x02");
  for (int i = 0; i < 2; ++i, at = shared.find("PK\x01\x02", at + 4)) {
    for (const std::size_t place : {at + 20, at + 24}) shared[place] = static_cast<char>(shared.size() - 30);
  }
  CHECK(said(shared) == "x.npz: damaged ZIP archive: its files have more compressed bytes than it");
  CHECK(said(write_zip({{"a.txt", "text"}})) ==
        "x.npz: 'a.txt' is not a .npy file; expected an archive of numpy.savez");
}

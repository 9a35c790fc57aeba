#include "files/digest.h"

#include "tests/catch.h"

using namespace heed;

TEST_CASE("xxh64 gives the values of its specification and of its reference implementation") {
  CHECK(hexadecimal(xxh64("")) == "ef46db3751d8e999");
  CHECK(hexadecimal(xxh64("a")) == "d24ec4f1a98c6e5b");
  CHECK(hexadecimal(xxh64("abc")) == "44bc2cf5ad770999");
  CHECK(hexadecimal(xxh64("Nobody inspects the spammish repetition")) == "fbcea83c8a378bf1");
  CHECK(hexadecimal(1) == "0000000000000001");
}

TEST_CASE("A flipped bit or another seed changes the hash of xxh64") {
  for (const std::size_t size : {1, 3, 4, 7, 8, 31, 32, 33, 100}) {
    std::string bytes(size, 'x');
    const std::uint64_t whole = xxh64(bytes);
    CHECK(xxh64(bytes, 1) != whole);
    for (std::size_t bit = 0; bit < 8 * size; ++bit) {
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
      CHECK(xxh64(bytes) != whole);
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
    }
  }
}

TEST_CASE("Xxh64 gives the same hash for bytes added in pieces") {
  std::string bytes;
  for (int i = 0; i < 200; ++i) bytes += static_cast<char>(i * 37);
  for (const std::size_t size : {0, 1, 31, 32, 33, 64, 100, 200}) {
    const std::string all = bytes.substr(0, size);
    for (const std::size_t piece : {1, 5, 31, 32, 33, 70}) {
      Xxh64 hash(3);
      for (std::size_t at = 0; at < size; at += piece) hash.add(std::string_view(all).substr(at, piece));
      CHECK(hash.value() == xxh64(all, 3));
      CHECK(hash.value() == xxh64(all, 3));  // asking changes nothing
    }
  }
}

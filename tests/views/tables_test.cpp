#include "tests/message.h"
#include "tests/views/helpers.h"
#include "views/picture.h"

#include <cstring>

using namespace heed;

TEST_CASE("attention_csv follows RFC 4180 and counts from 1") {
  const std::string csv = attention_csv({7, {chinese_sentence()}}, {});
  CHECK(
      csv.starts_with("sentence,layer,head,from,to,query token,key token,weight\r\n"
                      "1,1,1,1,1,苹果,苹果,1\r\n"));
  CHECK(csv.find("1,1,1,3,2,甜,很,0.125\r\n") != std::string::npos);
  CHECK(count_of(csv, "\r\n") == 10);
  CHECK(attention_csv({7, {hostile_sentence()}}, {}).find(",\"a\"\"b,\n\xe2\x80\xae\",<!--,0.125\r\n") !=
        std::string::npos);
  const std::string one = attention_csv({7, {english_sentence(), english_sentence()}}, choosing(2, 1));
  CHECK(count_of(one, "\r\n") == 1 + 2 * 121);
  CHECK(one.find("2,2,1,8,2,it,animal,0.93\r\n") != std::string::npos);
}

TEST_CASE("attention_npy is a NumPy array of layers and heads") {
  const std::string npy = attention_npy(english_sentence(), {});
  CHECK(npy.substr(0, 8) == std::string("\x93NUMPY\x01\x00", 8));
  CHECK(npy.substr(10, 63) == "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2, 11, 11");
  const std::size_t header = 10 + static_cast<unsigned char>(npy[8]) + 256u * static_cast<unsigned char>(npy[9]);
  CHECK(header % 64 == 0);
  CHECK(npy[header - 1] == '\n');
  REQUIRE(npy.size() == header + 4 * 2 * 2 * 11 * 11);
  float weight;  // of layer 2, head 1, from it to animal
  std::memcpy(&weight, npy.data() + header + 4 * ((2 * 11 + 7) * 11 + 1), 4);
  CHECK(weight == 0.93f);
  CHECK(attention_npy(english_sentence(), choosing(2, 1)).find("(1, 1, 11, 11)") != std::string::npos);

  SentenceAttention uneven = english_sentence();
  uneven.layers[1] = weights_of(7, {std::vector<double>(11, 1.0 / 11)});
  CHECK(message([&] { attention_npy(uneven, {}); }) ==
        "layers 1 and 2 differ in heads (2 and 1), so one array cannot hold them; choose one with --layer");
}

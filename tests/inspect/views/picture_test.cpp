#include "inspect/views/picture.h"

#include "inspect/views/colour.h"
#include "tests/inspect/views/helpers.h"
#include "tests/message.h"

#include <cstring>

using namespace heed;

namespace {

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

SentenceAttention hostile() {
  SentenceAttention sentence = chinese_sentence();
  sentence.tokens = {"</script><script>alert(1)</script>", "<!--", "a\"b,\n\xe2\x80\xae"};
  sentence.predicted = sentence.tokens[0];
  return sentence;
}

}  // namespace

TEST_CASE("the colour scale runs from its first to its last stop") {
  CHECK(hex(colour_of(0)) == "#f8fafc");
  CHECK(hex(colour_of(1)) == "#121a63");
  CHECK(hex(colour_of(7)) == "#121a63");
  CHECK(hex(colour_of(0.5)) == "#4490ea");
  CHECK(hex(colour_of(1.0 / 16)) == "#dff0fe");  // between #f8fafc and #c6e5ff
}

TEST_CASE("attention_svg draws one head with words, figures and legend") {
  const std::string svg = attention_svg(english_sentence(), 400, choosing(2, 1));
  CHECK(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" "));
  CHECK(svg.ends_with("</svg>\n"));
  CHECK(count(svg, "<rect x=") == 11 * 11 + 1);  // and the legend
  CHECK(svg.find("<title>it → animal 0.930</title>") != std::string::npos);
  CHECK(svg.find(fmt::format("fill=\"{}\"><title>it → animal", hex(colour_of(0.93)))) != std::string::npos);
  CHECK(svg.find("fill=\"#ffffff\">.93</text>") != std::string::npos);
  CHECK(count(svg, ">because</text>") == 2);  // on both axes
  CHECK(svg.find("step 400, layer 2 head 1; answers animal with probability 0.998") != std::string::npos);
  CHECK(svg.find("attention weight; rows attend to columns") != std::string::npos);
}

TEST_CASE("attention_svg draws a grid of all heads, small for long sentences too") {
  const std::string grid = attention_svg(english_sentence(), 400, {});
  for (const char* name : {"layer 1 head 1", "layer 1 head 2", "layer 2 head 1", "layer 2 head 2"}) {
    CHECK(count(grid, name) == 1);
  }
  CHECK(count(attention_svg(english_sentence(), 400, choosing({}, 2)), "head 2</text>") == 2);

  SentenceAttention large;
  large.predicted = "w";
  std::vector<double> row(128, 1.0 / 128);
  for (int i = 0; i < 128; ++i) large.tokens.push_back("w" + std::to_string(i));
  for (int layer = 0; layer < 12; ++layer) large.layers.push_back(weights_of(0, std::vector(12, row)));
  CHECK(attention_svg(large, 0, {}).size() < 2'000'000);
  CHECK(message([] { attention_svg(english_sentence(), 0, choosing(3, {})); }) ==
        "there is no layer 3: layers are numbered from 1 to 2");
}

TEST_CASE("a picture shows what tokens hold, and runs none of it") {
  const std::string svg = attention_svg(hostile(), 0, {});
  CHECK(svg.find("<script") == std::string::npos);
  CHECK(svg.find("<!--") == std::string::npos);
  CHECK(svg.find("\xe2\x80\xae") == std::string::npos);
  CHECK(svg.find("&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;") != std::string::npos);
  CHECK(svg.find("a&quot;b,␊⟨U+202E⟩") != std::string::npos);
}

TEST_CASE("attention_csv is RFC 4180, counted from 1") {
  const std::string csv = attention_csv({7, {chinese_sentence()}}, {});
  CHECK(
      csv.starts_with("sentence,layer,head,from,to,query token,key token,weight\r\n"
                      "1,1,1,1,1,苹果,苹果,1\r\n"));
  CHECK(csv.find("1,1,1,3,2,甜,很,0.125\r\n") != std::string::npos);
  CHECK(count(csv, "\r\n") == 10);
  CHECK(attention_csv({7, {hostile()}}, {}).find(",\"a\"\"b,\n\xe2\x80\xae\",<!--,0.125\r\n") != std::string::npos);
  const std::string one = attention_csv({7, {english_sentence(), english_sentence()}}, choosing(2, 1));
  CHECK(count(one, "\r\n") == 1 + 2 * 121);
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
        "layers 1 and 2 have 2 and 1 heads, which is no array; choose one with --layer");
}

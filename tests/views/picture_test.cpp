#include "views/picture.h"

#include "tests/message.h"
#include "tests/views/helpers.h"
#include "views/colour.h"

using namespace heed;

TEST_CASE("attention_svg draws one head with words, figures and legend") {
  const std::string svg = attention_svg(english_sentence(), 400, choosing(2, 1));
  CHECK(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" "));
  CHECK(svg.ends_with("</svg>\n"));
  CHECK(count_of(svg, "<rect x=") == 11 * 11 + 1);  // and the legend
  CHECK(svg.find("<title>it → animal 0.930</title>") != std::string::npos);
  CHECK(svg.find(fmt::format("fill=\"{}\"><title>it → animal", hex(colour_of(0.93)))) != std::string::npos);
  CHECK(svg.find("fill=\"#ffffff\">.93</text>") != std::string::npos);
  CHECK(count_of(svg, ">because</text>") == 2);  // on both axes
  CHECK(svg.find("step 400, layer 2 head 1; answers animal with probability 0.998") != std::string::npos);
  CHECK(svg.find("attention weight; rows attend to columns") != std::string::npos);
}

TEST_CASE("attention_svg draws a grid of all heads, in less than 2 MB for a long sentence") {
  const std::string grid = attention_svg(english_sentence(), 400, {});
  for (const char* name : {"layer 1 head 1", "layer 1 head 2", "layer 2 head 1", "layer 2 head 2"}) {
    CHECK(count_of(grid, name) == 1);
  }
  CHECK(count_of(attention_svg(english_sentence(), 400, choosing({}, 2)), "head 2</text>") == 2);

  SentenceAttention large;
  large.predicted = "w";
  std::vector<double> row(128, 1.0 / 128);
  for (int i = 0; i < 128; ++i) large.tokens.push_back("w" + std::to_string(i));
  for (int layer = 0; layer < 12; ++layer) large.layers.push_back(weights_of(0, std::vector(12, row)));
  CHECK(attention_svg(large, 0, {}).size() < 2'000'000);
  CHECK(message([] { attention_svg(english_sentence(), 0, choosing(3, {})); }) ==
        "--layer: expected a number from 1 to 2, got 3");
}

TEST_CASE("attention_svg escapes markup and control characters in tokens") {
  const std::string svg = attention_svg(hostile_sentence(), 0, {});
  CHECK(svg.find("<script") == std::string::npos);
  CHECK(svg.find("<!--") == std::string::npos);
  CHECK(svg.find("\xe2\x80\xae") == std::string::npos);
  CHECK(svg.find("&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;") != std::string::npos);
  CHECK(svg.find("a&quot;b,␊⟨U+202E⟩") != std::string::npos);
}

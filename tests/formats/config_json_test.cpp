#include "formats/internal/config_json.h"

#include "tests/catch.h"
#include "tests/message.h"
#include "tests/models/sample.h"

using namespace heed;

namespace {

// The configuration of each kind with a value other than the default in every field.
TransformerConfig other_than_default() {
  return {.max_length = 7,
          .segments = 3,
          .layers = 5,
          .causal = true,
          .embedding_width = 10,
          .projected_tokens = true,
          .embedding_scale = 2.5,
          .embedding_norm = true,
          .positions = Positions::rotary,
          .position_offset = 2,
          .rotary = {.base = 500,
                     .fraction = 0.5,
                     .pairs = RotaryPairs::interleaved,
                     .scaling = RotaryScaling::llama3,
                     .factor = 8,
                     .low_frequency = 2,
                     .high_frequency = 16,
                     .original_length = 1024,
                     .divisors = {1, 2.5},
                     .amplitude = 1.5},
          .block = {.attention =
                        {.d_model = 12,
                         .heads = 4,
                         .kv_heads = 2,
                         .d_k = 6,
                         .d_v = 5,
                         .bias = true,
                         .output_bias = false,
                         .tie = Tie::K_is_V,
                         .query_key_norm = QueryKeyNorm::all,
                         .query_key = {.kind = NormKind::layer, .epsilon = 1e-3, .gain_offset = true, .bias = false},
                         .scale = 0.125,
                         .soft_cap = 50,
                         .window = 3},
                    .mlp = {.width = 20, .activation = Activation::gelu_tanh, .gated = true, .bias = false},
                    .norm = {.kind = NormKind::rms, .epsilon = 1e-4, .gain_offset = true, .bias = false},
                    .placement = NormPlacement::both,
                    .parallel = true,
                    .shared_norm = true,
                    .attention_norm = false,
                    .residual_scale = 0.5},
          .full_attention_every = 6,
          .full_attention_layers = {0, 3},
          .window_rotary_base = 100,
          .unrotated_layers = {1},
          .divide_scores_by_layer = true,
          .shared_layers = true,
          .first_attention_norm = false,
          .last_residual = false,
          .final_norm = false};
}

std::string refused(const std::string& json) {
  return message([&] { model_config(parse_json(json), 9); });
}

}  // namespace

TEST_CASE("to_json writes all fields of a configuration, and model_config reads them back") {
  const TransformerConfig other = other_than_default();
  const LogitsConfig logits{.tied = false, .bias = true, .soft_cap = 30}, unbiased{.soft_cap = 2};
  const std::vector<ModelConfig> configs{ModelConfig::of(HeadKind::word),
                                         ModelConfig::of(HeadKind::candidate),
                                         ModelConfig::of(HeadKind::next_token),
                                         ModelConfig::of(HeadKind::masked_token),
                                         word_answerer(other, unbiased),
                                         candidate_chooser(other, true),
                                         language_model(other, logits),
                                         with(masked_language_model(other, unbiased), [&](ModelConfig& c) {
                                           c.transform = false;
                                           c.activation = Activation::relu;
                                         })};
  const Json plain = to_json(ModelConfig::of(HeadKind::next_token)).flatten();
  for (ModelConfig config : configs) {
    TransformerConfig& shape = config.transformer;
    shape.block.attention.d_model += shape.max_length == 0;
    shape.max_length += shape.max_length == 0;
    const Json json = to_json(config);
    CAPTURE(format_json(json));
    const ModelConfig read = model_config(json, 9);
    CHECK(read.head == config.head);
    CHECK(to_json(read) == json);
    CHECK(read.transformer.vocabulary == 9);
    for (const auto& [name, value] : plain.items()) {
      if (!name.starts_with("/transformer/")) continue;
      const Json::json_pointer field(name);
      REQUIRE(json.contains(field));
      if (config.transformer.layers == 5) {
        CAPTURE(name);
        CHECK(json.at(field) != value);
      }
    }
  }
}

TEST_CASE("to_json writes the documented form of a configuration") {
  const ModelConfig config = decoder_of(modern_config());
  CHECK(
      format_json(to_json(config)) ==
      R"({"kind":"language_model","transformer":{"max_length":12,"segments":0,"layers":2,"causal":true,)"
      R"("embedding_width":0,"projected_tokens":false,"embedding_scale":1.0,"embedding_norm":false,)"
      R"("positions":"rotary","position_offset":0,)"
      R"("rotary":{"base":10000.0,"fraction":1.0,"pairs":"halves","scaling":"none","factor":1.0,)"
      R"("low_frequency":1.0,"high_frequency":4.0,"original_length":8192,"divisors":[],"amplitude":1.0},)"
      R"("block":{"attention":{"d_model":8,"heads":2,"kv_heads":1,"d_k":4,"d_v":5,"bias":false,)"
      R"("output_bias":false,"tie":"none","query_key_norm":"heads",)"
      R"("query_key":{"kind":"rms","epsilon":1e-06,"gain_offset":false,"bias":true},)"
      R"("scale":0.0,"soft_cap":0.0,"window":0},)"
      R"("mlp":{"width":16,"activation":"silu","gated":true,"bias":false},)"
      R"("norm":{"kind":"rms","epsilon":1e-06,"gain_offset":false,"bias":true},"placement":"before","parallel":false,)"
      R"("shared_norm":false,"attention_norm":true,"residual_scale":1.0},)"
      R"("full_attention_every":0,"full_attention_layers":[],"window_rotary_base":0.0,"unrotated_layers":[],)"
      R"("divide_scores_by_layer":false,"shared_layers":false,"first_attention_norm":true,"last_residual":true,)"
      R"("final_norm":true},)"
      R"("logits":{"tied":true,"bias":false,"scale":1.0,"soft_cap":0.0}})");
  CHECK(to_json(ModelConfig::of(HeadKind::word)).at("kind") == "word_answerer");
  CHECK(format_json(to_json(ModelConfig::of(HeadKind::candidate)).at("or_none")) == "false");
  CHECK(to_json(ModelConfig::of(HeadKind::masked_token)).at("activation") == "gelu");
}

TEST_CASE("Missing fields of a configuration have their defaults") {
  const ModelConfig read = model_config(
      parse_json(R"({"kind":"masked_language_model","transformer":{"block":{"attention":{"d_model":4}}}})"), 9);
  ModelConfig expected = ModelConfig::of(HeadKind::masked_token);
  expected.transformer.block.attention.d_model = 4;
  CHECK(to_json(read) == to_json(expected));
}

TEST_CASE("model_config rejects unknown kinds, fields and names, and numbers out of range") {
  CHECK(refused("[1]") == "expected an object, got [1]");
  CHECK(refused(R"({"kind":"reader"})") ==
        "'kind' must be one of word_answerer, candidate_chooser, language_model, masked_language_model, "
        "text_classifier, bare_transformer, got 'reader'");
  CHECK(refused(R"({"kind":"language_model","transformer":{"layer":2}})") ==
        "'transformer': unknown field 'layer' (did you mean 'layers'?)");
  CHECK(refused(R"({"kind":"language_model","or_none":true})") == "'language_model': unknown field 'or_none'");
  const auto in_transformer = [](const std::string& field) {
    return refused(R"({"kind":"language_model","transformer":{)" + field + "}}");
  };
  CHECK(in_transformer(R"("layers":-1)") == "'layers' must be an integer from 1 to 16777216, got -1");
  CHECK(in_transformer(R"("layers":1.5)") == "'layers' must be an integer from 1 to 16777216, got 1.5");
  CHECK(in_transformer(R"("max_length":0)") == "'max_length' must be an integer from 1 to 16777216, got 0");
  CHECK(in_transformer(R"("segments":16777217)") == "'segments' must be an integer from 0 to 16777216, got 16777217");
  CHECK(in_transformer(R"("embedding_scale":-0.5)") == "'embedding_scale' must be a number from 0 up, got -0.5");
  CHECK(in_transformer(R"("embedding_scale":"1")") == "'embedding_scale' must be a number from 0 up, got \"1\"");
  CHECK(in_transformer(R"("rotary":{"base":0.5})") == "'base' must be a number from 1 up, got 0.5");
  CHECK(in_transformer(R"("causal":1)") == "'causal' must be true or false, got 1");
  CHECK(in_transformer(R"("block":{"mlp":{"bias":"yes"}})") == "'bias' must be true or false, got \"yes\"");
  CHECK(in_transformer(R"("block":{"mlp":3})") == "'mlp' must be an object, got 3");
  CHECK(in_transformer(R"("block":{"placement":"pre"})") ==
        "'placement' must be one of before, after, output, both, got \"pre\"");
  CHECK(in_transformer(R"("positions":2)") == "'positions' must be one of none, learned, sinusoidal, rotary, got 2");
  CHECK(refused(R"({"kind":3})").ends_with("bare_transformer, got '3'"));
  CHECK(refused(R"({"max_length":11,"layers":2})")
            .starts_with("'kind' is missing, and it is not a description of version 0.1: "));
}

TEST_CASE("model_config reads the flat description of version 0.1") {
  // As version 0.1 wrote a model that answers with words; fields with their defaults were left out.
  const ModelConfig word =
      model_config(parse_json(R"({"max_length":11,"sentences":2,"layers":3,"mlp":16,"positions":"sinusoidal",)"
                              R"("attention":{"d_model":64,"heads":2,"d_k":16,"d_v":24,"bias":true,"output_bias":true,)"
                              R"("tie":"Q_is_K"}})"),
                   73);
  TransformerConfig shape{
      .vocabulary = 73,
      .max_length = 11,
      .segments = 2,
      .layers = 3,
      .positions = Positions::sinusoidal,
      .block = {.attention = {.d_model = 64, .heads = 2, .d_k = 16, .d_v = 24, .bias = true, .tie = Tie::Q_is_K},
                .mlp = {.width = 16}}};
  CHECK(to_json(word) == to_json(answerer_of(shape)));
  CHECK(word.transformer.vocabulary == 73);

  const ModelConfig candidate = model_config(
      parse_json(R"({"max_length":11,"sentences":0,"layers":2,"mlp":0,"positions":"learned","answer":"candidate",)"
                 R"("attention":{"d_model":64,"heads":2,"d_k":0,"d_v":0,"bias":false,"output_bias":false,)"
                 R"("tie":"none"}})"),
      73);
  shape = {.vocabulary = 73,
           .max_length = 11,
           .block = {.attention = {.d_model = 64, .heads = 2, .output_bias = false}, .mlp = {.bias = false}}};
  CHECK(to_json(candidate) == to_json(chooser_of(shape)));
  const ModelConfig or_none = model_config(
      parse_json(R"({"max_length":11,"sentences":0,"layers":2,"mlp":0,"positions":"learned",)"
                 R"("answer":"candidate_or_none","attention":{"d_model":64,"heads":2,"d_k":0,"d_v":0,"bias":false,)"
                 R"("output_bias":false,"tie":"none"}})"),
      73);
  CHECK(to_json(or_none) == to_json(chooser_of(shape, true)));

  const ModelConfig next = model_config(
      parse_json(R"({"max_length":256,"sentences":0,"layers":6,"mlp":300,"positions":"rotary","predicts":"next",)"
                 R"("logits":"untied","norm":"rms","activation":"swiglu","attention":{"d_model":112,"heads":4,)"
                 R"("kv_heads":2,"d_k":0,"d_v":0,"bias":false,"output_bias":false,"tie":"none",)"
                 R"("normalised_heads":"yes"}})"),
      65);
  shape = {.vocabulary = 65,
           .max_length = 256,
           .layers = 6,
           .positions = Positions::rotary,
           .block = {.attention = {.d_model = 112,
                                   .heads = 4,
                                   .kv_heads = 2,
                                   .output_bias = false,
                                   .query_key_norm = QueryKeyNorm::heads},
                     .mlp = {.width = 300, .activation = Activation::silu, .gated = true, .bias = false},
                     .norm = rms_config}};
  CHECK(to_json(next) == to_json(decoder_of(shape, {.tied = false})));
}

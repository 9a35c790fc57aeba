#include "browser.h"
#include "formats/internal/config_json.h"
#include "inspect/page/page_model.h"
#include "open.h"
#include "tests/models/random_models.h"
#include "trying.h"

#include <map>

// The page's engine computes each field of a configuration, or the page refuses it by name.
using namespace heed;

namespace {

template <class T>
concept HasFields = requires(T& value) {
  T::for_each_field(value, [](auto&&...) {});
};

// Lists the places of all fields in to_json(), with other values than theirs.
struct FieldLister {
  std::string place;
  std::map<std::string, std::vector<Json>>& fields;

  void add(const char* name, const Json& value, const std::vector<Json>& others) const {
    std::vector<Json>& list = fields[place + "/" + name];
    for (const Json& other : others) {
      if (other != value && std::ranges::find(list, other) == list.end()) list.push_back(other);
    }
  }
  void operator()(const char* name, bool value) const { add(name, value, {!value}); }
  template <HasNames E>
  void operator()(const char* name, E value) const {
    std::vector<Json> others;
    for (const auto& other : names_of<E>()) others.push_back(other);
    add(name, name_of(value), others);
  }
  void operator()(const char* name, int value, int) const { add(name, value, {value + 1, 2 * value, value / 2}); }
  void operator()(const char* name, double value, double) const {
    add(name, value, {value + 0.5, value * 0.5, value + 2});
  }
  void operator()(const char* name, const std::vector<int>& value, int) const {
    add(name, value, {Json::array({0}), Json::array({1})});
  }
  void operator()(const char* name, const std::vector<double>& value, double) const {
    add(name, value, {Json::array({1.5}), Json::array({1.5, 2.5})});
  }
  void operator()(const char* name, const std::vector<std::string>& value) const {
    add(name, value, {Json::array({"one", "another"})});
  }
  void operator()(const char*, const AdapterConfig&) const {}  // to_json() writes no field of a model without adapters
  template <HasFields T>
  void operator()(const char* name, const T& value) const {
    T::for_each_field(value, FieldLister{place + "/" + name, fields});
  }
};

// The first has learned positions; the second the parts of newer models, which some fields presuppose.
TransformerConfig plain() {
  TransformerConfig config = small_config(Positions::learned, Tie::none, true, 3);
  config.block.attention.d_k = config.block.attention.d_v = 4;
  return config;
}
TransformerConfig modern() {
  TransformerConfig config = plain();
  config.positions = Positions::rotary;
  config.rotary.scaling = RotaryScaling::llama3;
  config.rotary.factor = 4;
  config.rotary.original_length = 16;
  config.block.attention.window = 3;
  config.block.attention.query_key_norm = QueryKeyNorm::heads;
  config.block.attention.query_key = {};
  config.block.parallel = true;
  return config;
}

Model model_of(const Json& config) {
  Model model = small_model(model_config(config, 14));
  shake_all(model.parameters);
  return model;
}

// Weights of all heads, then the probabilities of all answers.
std::vector<double> computed(const Model& model, const Example& example) {
  const ModelOutput output = model.run(batch_of(model, example), {.weights = true});
  std::vector<double> numbers;
  for (const Tensor& layer : output.weights) {
    for (const double weight : layer.to_vector()) numbers.push_back(weight);
  }
  if (!model.head().exists()) return numbers;
  for (const double p : softmax(output.logits.to(DType::float64)).to_vector()) numbers.push_back(p);
  return numbers;
}

Json computed_by_page(Browser& chromium, const Model& model, const std::string& text, int query) {
  return chromium.run(fmt::format(
      "(() => {{ const reader = new Reader({}), text = reader.understand({}); if (text.problem) return text.problem; "
      "const found = reader.read({{...text, query: {}}}); return "
      "[...found.layers.flatMap(({{heads}}) => heads.flatMap(({{weights}}) => [...weights])), ...({} ? "
      "found.probabilities : [])]; }})()",
      format_json(model_json(model)), Json(text).dump(), query, model.head().exists()));
}

}  // namespace

TEST_CASE("The page computes each field of each configuration as the program does, or refuses it by name") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Page host(small_model());
  chromium->open(host.file);
  std::map<std::string, double> effects;  // largest of each field on the program's numbers; 1 if the page refuses it
  const auto check = [&](const ModelConfig& base) {
    std::map<std::string, std::vector<Json>> fields;
    ModelConfig::for_each_field(base, FieldLister{"", fields});
    const Json config = to_json(base);
    const std::string text = base.head == HeadKind::candidate ? "the [dog] was tired . was it [the street] ?"
                                                              : "the dog was tired . was it the street ?";
    const Model unchanged = model_of(config);
    const Example example = question(unchanged, text, "it");
    const std::vector<double> before = computed(unchanged, example);
    REQUIRE(why_left_out(unchanged).empty());
    CHECK(largest_difference(computed_by_page(*chromium, unchanged, text, example.query), before) < 2e-5);
    for (const auto& [place, values] : fields) {
      effects[place] += 0;
      for (const Json& value : values) {
        CAPTURE(name_of(base.head), place, format_json(value));
        Json changed = config;
        changed[Json::json_pointer(place)] = value;
        std::optional<Model> model;
        std::vector<double> numbers;
        try {
          model = model_of(changed);
          numbers = computed(*model, question(*model, text, "it"));
        } catch (const Error&) {
          continue;  // no model has this value beside the others
        }
        std::string name = place.substr(1);
        std::ranges::replace(name, '/', '.');
        if (const std::string refused = why_left_out(*model); !refused.empty()) {
          CHECK(refused.find(name + " = ") != std::string::npos);
          effects[place] = 1;
          continue;
        }
        CHECK(largest_difference(computed_by_page(*chromium, *model, text, example.query), numbers) < 2e-5);
        double& effect = effects[place];
        if (numbers.size() != before.size()) effect = 1;
        for (std::size_t i = 0; i < std::min(numbers.size(), before.size()); ++i)
          effect = std::max(effect, std::abs(numbers[i] - before[i]));
      }
    }
  };
  for (const TransformerConfig& shape : {plain(), modern()}) {
    check(word_answerer(shape));
    check(candidate_chooser(shape));
    check(masked_language_model(shape));
    check(bare_transformer(shape));
    TransformerConfig causal = shape;
    causal.causal = true;
    check(language_model(causal));
  }
  for (const auto& [place, effect] : effects) {
    CAPTURE(place);
    // Else the numbers above say nothing about the field. These are sizes of tables, and gains that start at 0 in place of 1.
    const bool has_none =
        place.ends_with("/max_length") || place.ends_with("/segments") || place.ends_with("/gain_offset");
    CHECK((has_none || effect > 1e-4));
  }
  CHECK(chromium->complaints() == std::vector<std::string>{});
}

TEST_CASE("The page of a chooser that continues a BERT has its numbers in a text of several sentences") {
  Browser* chromium = browser();
  if (!chromium) return;
  const Page host(small_model());
  chromium->open(host.file);
  TransformerConfig shape = plain();
  shape.segments = 2;  // token types
  Model model = small_model(candidate_chooser(shape, false, false));
  shake_all(model.parameters);
  const std::string text = "the [dog] was tired . was it . the [street] was ?";  // of three sentences
  const Example example = question(model, text, "it");
  CHECK(largest_difference(computed_by_page(*chromium, model, text, example.query), computed(model, example)) < 1e-5);
}

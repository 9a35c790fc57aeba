#include "tests/formats/hugging_face/copied_model.h"
#include "tests/golden.h"
#include "tests/models/sample.h"

#include <heed/models/reading.h>

using namespace heed;

namespace {

std::vector<std::string> classes_with(const std::string& name, const std::function<void(Json&)>& change) {
  CopiedModel copy(name);
  copy.config(change);
  return load_model(copy.path()).config().classes;
}

const std::vector<std::string> numbered{"LABEL_0", "LABEL_1", "LABEL_2"}, none;

}  // namespace

TEST_CASE("The classes of a pretrained model are those of id2label, or numbered") {
  const auto of_bert = [](const std::function<void(Json&)>& change) { return classes_with("bert_classes", change); };
  CHECK(of_bert([](Json&) {}) == std::vector<std::string>{"negative", "neutral", "positive"});
  CHECK(of_bert([](Json& json) { json["problem_type"] = "single_label_classification"; }).size() == 3);
  CHECK(of_bert([](Json& json) { json.erase("id2label"), json["num_labels"] = 3; }) == numbered);
  CHECK(of_bert([](Json& json) { json["id2label"]["1"] = "positive"; }) == numbered);  // two of one name
  CHECK(of_bert([](Json& json) { json["id2label"]["1"] = nullptr; })[1] == "LABEL_1");
}

TEST_CASE("A classifier of another kind has no head") {
  for (const char* type : {"multi_label_classification", "regression"}) {
    CHECK(classes_with("bert_classes", [&](Json& json) { json["problem_type"] = type; }) == none);
  }
  CHECK(classes_with("bert_classes", [](Json& json) { json["architectures"] = {"BertForTokenClassification"}; }) ==
        none);
  CHECK(classes_with("bert_classes", [](Json& json) { json.erase("architectures"); }) == none);
  CHECK(classes_with("modernbert_classes", [](Json& json) { json["classifier_pooling"] = "mean"; }) == none);
}

TEST_CASE("A classifier whose matrix has another number of classes is refused") {
  CopiedModel copy("bert_classes");
  copy.config([](Json& json) { json["id2label"]["3"] = "mixed"; });
  CHECK(copy.refused().find("classifier.weight: expected shape (4, 20), got (3, 20)") != std::string::npos);
}

TEST_CASE("with_classes gives each family its classifier, which an export keeps") {
  const std::vector<std::string> classes{"de", "en", "fr", "zh"};
  const Batch texts{.tokens = Ids({{5, 17, 3, 42}, {8, 17, 29, 0}}), .lengths = {4, 3}};
  for (const auto& entry : std::filesystem::directory_iterator(golden_models)) {
    const std::string name = entry.path().filename().string();
    if (name == "opt_projected" || name == "gemma3_images") continue;
    CAPTURE(name);
    const Model model = load_model(entry.path());
    const Model made = with_classes(model, classes, 2);
    CHECK(error(made.transformer()(texts).output, model.transformer()(texts).output) == 0);
    CHECK(made.config().transform == !model.transformer().config.causal);
    const Scratch scratch;
    export_hugging_face(made, scratch / "out");
    const Json json = parse_json(read_file(scratch / "out" / "config.json"));
    const std::string kind = json.at("architectures")[0];
    CHECK(kind.ends_with("ForSequenceClassification"));
    CHECK(json.at("label2id").at("zh") == 3);
    const Model read = load_model(scratch / "out");
    CHECK(read.config().classes == classes);
    CHECK(error(read.logits(texts), made.logits(texts)) == 0);
  }
  CHECK(message([&] {
          with_classes(load_model(golden_models / "opt_projected"), classes);
        }).starts_with("with_classes: OPT"));
}

TEST_CASE("with_classes takes the parameters of a model in a scope, with its adapters") {
  ModelConfig config = decoder_of(small_config());
  config.transformer.vocabulary = 14;
  Parameters parameters;
  Model model(Scope(parameters, 1) / "mine", config);
  adapt(model, {"W_Q"}, {.rank = 2});
  assign(parameters["mine.encoder.0.attention.W_Q.lora_B"], 0.1);
  const Batch texts{.tokens = Ids({{5, 1, 3, 2}})};
  const Model made = with_classes(model, {"a", "b"});
  CHECK(error(made.transformer()(texts).output, model.transformer()(texts).output) < 1e-6);
  CHECK(made.config().adapter.layers.empty());
}

TEST_CASE("with_classes draws a head from its seed, and keeps nothing of an earlier one") {
  const Model model = load_model(golden_models / "bert_classes");
  const auto head = [&](std::uint64_t seed) {
    return with_classes(model, {"a", "b", "c"}, seed).parameters["classifier.weight"];
  };
  CHECK(error(head(1), head(1)) == 0);
  CHECK(error(head(1), head(2)) > 0.01);
  CHECK(error(head(1), model.parameters["classifier.weight"]) > 0.01);
}

#include "train/config/pretrained.h"

#include "run/internal/run_directory.h"
#include "train/config/keys.h"

#include <fmt/format.h>

namespace heed {
namespace {

namespace fs = std::filesystem;

ModelConfig shape_of(const Model& model) { return pretrained_config(model, "model.from: its config.json"); }

}  // namespace

std::shared_ptr<const Model> find_pretrained(const fs::path& from) {
  std::error_code unreadable;
  if (from.empty() || !fs::exists(from, unreadable)) return nullptr;
  const fs::path file = fs::is_directory(from) ? model_path(from) : from;
  if (!fs::exists(file, unreadable)) return nullptr;
  auto model = std::make_shared<const Model>(read_description(file));
  if (model->pretrained_config.empty()) return nullptr;
  if (!model->tokenizer.pretrained()) {
    fail("model.from: {}: expected a tokenizer, with which the data is read; found no {}", from.string(),
         tokenizer_name(file));
  }
  return model;
}

void use_pretrained(Config& config, std::shared_ptr<const Model> model) {
  const ModelConfig shape = shape_of(*model);
  config.model = shape.transformer;
  config.model.block.attention = config.model.block.attention.complete();
  config.logits = shape.logits.tied ? Logits::tied : Logits::untied;
  config.logit_cap = shape.logits.soft_cap;
  config.zero_outputs = false;
  config.data.split = Split::subwords;
  config.data.unknown = Unknown::error;
  config.data.min_count = 1;
  config.data.tokenizer = model->tokenizer;
  config.pretrained = std::move(model);
}

std::vector<std::pair<std::string, std::string>> contradictions(
    Config config, Config taken, const std::function<bool(const std::string&)>& is_given) {
  std::vector<std::pair<std::string, std::string>> found;
  const std::vector<Key> ours = keys(config), theirs = keys(taken);
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const std::string here = written(ours[i]), there = written(theirs[i]), &name = ours[i].name;
    if (here == there) continue;
    Config asked = taken;
    const Key key = keys(asked)[i];
    if (!assign(key, there, false)) {
      found.emplace_back("model.from", fmt::format("{} is {} in {} (model.from); expected {}", name, there, taken.from,
                                                   expected(key)));
    }
    if (!is_given(name)) continue;
    assign(key, here, false);
    asked.model.block.attention = asked.model.block.attention.complete();  // 0 may mean what is there
    if (written(key) == there) continue;
    found.emplace_back(name, fmt::format("{} is {} here, but {} in {} (model.from); leave the key out", name, here,
                                         there, taken.from));
  }
  return found;
}

void use_tokenizer(Config& config, Model model) {
  if (!model.pretrained_config.empty()) {
    use_pretrained(config, std::make_shared<const Model>(std::move(model)));
  } else if (model.tokenizer.subwords()) {
    config.data.tokenizer = model.tokenizer;
  }
}

ModelConfig continued_config(const Config& config) {
  ModelConfig shape = shape_of(*config.pretrained);
  const auto refuse = [&](const char* expected, const char* hint) {
    fail("model.from: {}: data.task {} needs {}; try {}", config.from, name_of(config.data.kind), expected, hint);
  };
  switch (config.data.kind) {
    case TaskKind::candidates:
      if (config.answer == Answer::word)
        refuse("model.answer candidate or candidate_or_none, got word", "one of these");
      shape.transformer.causal = false;  // the word that decides follows the pronoun
      return candidate_chooser(shape.transformer, config.answer == Answer::candidate_or_none, false);
    case TaskKind::text:
      if (!shape.transformer.causal) refuse("a model that sees earlier tokens alone", "masked_text");
      return shape;
    case TaskKind::masked_text:
      if (shape.transformer.causal) refuse("a model that sees the whole text", "text");
      return shape;
    default:
      fail("model.from: {}: a pretrained model learns candidates, text or masked_text, not task {}", config.from,
           name_of(config.data.kind));
  }
}

}  // namespace heed

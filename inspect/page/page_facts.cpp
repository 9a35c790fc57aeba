#include "inspect/page/page_facts.h"

#include "views/induction_view.h"
#include "views/shown_heads.h"
#include "views/written_tokens.h"

#include <heed/autograd/ops.h>
#include <heed/explain/studies/induction_scores.h>
#include <heed/files/file.h>
#include <heed/files/utf8.h>
#include <heed/models/reading.h>

#include <algorithm>
#include <cmath>

namespace heed {
namespace {

constexpr std::size_t max_shown_answers = 10;

Json next_of(const Model& model, const Example& example) {
  const Tensor logits = model.logits(batch_of(model, example));
  const std::vector<double> p = softmax(logits.to(DType::float64)).to_vector();
  Json result = Json::array();
  for (const std::size_t i : largest_of<double>(p, max_shown_answers)) {
    const std::string token = answer_text(model, example, static_cast<int>(i));
    result.push_back({page_token(model, token), p[i]});
  }
  return result;
}

Json bits_of(const Model& model, const Example& example) {
  const Ids ids = batch_of(model, example).tokens;      // (1, T)
  const Tensor logits = model.logits({.tokens = ids});  // (1, T, vocabulary)
  Json result = Json::array({nullptr});
  for (std::int64_t t = 1; t < ids.numel(); ++t) {
    const Tensor p = softmax(contiguous(slice(logits, 1, t - 1, t)).to(DType::float64));
    result.push_back(-std::log2(p.at({0, 0, ids[t]})));
  }
  return result;
}

}  // namespace

ScoredHead telling_head(const SentenceAttention& sentence) {
  if (sentence.antecedent >= 0) return pointing_head(sentence);
  SentenceAttention asked = sentence;
  const auto is_sink_at = [&](int at) { return is_sink(sentence.tokens, at); };
  if (is_sink_at(asked.query)) {  // inspect/page/app.js asks about the last other token
    asked.query = static_cast<int>(sentence.tokens.size()) - 1;
    while (asked.query > 0 && is_sink_at(asked.query)) --asked.query;
  }
  ScoredHead best{-1, 0};
  double most = 0;
  for (int layer = 0; layer < std::ssize(sentence.layers); ++layer) {
    for (int head = 0; head < sentence.layers[static_cast<std::size_t>(layer)].size(0); ++head) {
      const double weight = telling_weight(asked, {layer, head});
      if (weight > most) best = {layer, head};
      most = std::max(most, weight);
    }
  }
  return best.layer < 0 ? pointing_head(sentence) : best;
}

void add_predictions(Json& description, const Model& model, const std::vector<Example>& examples) {
  const TransformerConfig& config = model.transformer().config;
  description["causal"] = config.causal;
  description["masked"] = model.head().fills_masks();
  description["kv_heads"] = config.block.attention.kv_heads;
  if (!model.head().exists() || model.head().chooses_candidates()) return;
  Json& sentences = description["sentences"];
  for (std::size_t i = 0; i < sentences.size() && i < examples.size(); ++i) {
    sentences[i]["next"] = next_of(model, examples[i]);
    if (model.head().generates()) sentences[i]["bits"] = bits_of(model, examples[i]);
  }
}

Json head_scores_of(const Dump& dump) {
  Json layers = Json::array();
  for (const std::vector<HeadScores>& layer : head_scores(dump.sentences)) {
    Json& heads = layers.emplace_back(Json::array());
    for (const HeadScores& head : layer) {
      heads.push_back({number_or_null(head.previous_token), number_or_null(head.induction)});
    }
  }
  return layers;
}

void add_repeated_scores(Json& description, const Model& model, const OnProgress& progress) {
  const Json& sentences = description["sentences"];
  const bool copies = std::ranges::any_of(sentences, [](const Json& one) { return one["antecedent"] >= 0; });
  if (!copies || !model.head().has_token_logits() || !reads_repeats(model)) return;
  description["repeated"] = repeated_json(repeated_scores(model, 1, progress), View{});
  description["repeated"]["step"] = model.step;
}

PageHeading heading_of(const Json& descriptions) {
  PageHeading heading{.title = "heed:",
                      .description = "Where the model attends, and whether that attention causes its answers."};
  for (std::size_t i = 0; i < descriptions.size(); ++i) {
    const Json& run = descriptions[i];
    heading.title += (i == 0 ? " " : i + 1 < descriptions.size() ? ", " : " and ") + run["name"].get<std::string>();
    if (run.contains("curves")) heading.description = "The numbers of a training loop by their steps.";
    if (run.contains("causes") && !run["causes"]["verdict"].empty()) heading.description = run["causes"]["verdict"][0];
  }
  return heading;
}

std::string seed_of(const std::filesystem::path& run) {
  if (!std::filesystem::exists(run / "config.yaml")) return "";
  const std::string text = "\n" + read_file(run / "config.yaml"), key = "\nseed: ";
  const std::size_t at = text.find(key), begin = at + key.size();
  return at == text.npos ? "" : text.substr(begin, text.find_first_not_of("0123456789", begin) - begin);
}

}  // namespace heed

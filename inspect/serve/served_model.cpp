#include "inspect/serve/served_model.h"

#include "inspect/page/encode.h"
#include "inspect/page/page_facts.h"
#include "views/terminal_text.h"
#include "views/view.h"
#include "views/written_tokens.h"

#include <heed/autograd/ops.h>
#include <heed/autograd/record.h>
#include <heed/explain/intervention.h>
#include <heed/explain/score_parts.h>
#include <heed/explain/token_circuits.h>
#include <heed/files/utf8.h>
#include <heed/models/generate.h>
#include <heed/models/reading.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace heed {
namespace {

constexpr std::size_t listed_answers = 10, max_words = 64, max_pairs = 12;

const Json& field(const Json& object, const char* name) {
  if (!object.is_object() || !object.contains(name)) fail("the request has no \"{}\"", name);
  return object[name];
}

int integer(const Json& value, const char* name, int least, int most) {
  if (!value.is_number_integer() || value < least || value > most) {
    fail("{}: expected an integer from {} to {}, got {}", name, least, most, excerpt(value.dump(), 20));
  }
  return value.get<int>();
}

// Parses "layer.head" or "layer.head.token".
std::vector<int> place_of(const Json& name) {
  if (!name.is_string()) fail("removed: expected names of heads and edges");
  const std::string& text = name.get_ref<const std::string&>();
  std::vector<int> numbers;
  for (const char *at = text.data(), *stop = at + text.size(); at <= stop; ++at) {
    const auto [end, error] = std::from_chars(at, stop, numbers.emplace_back());
    if (error != std::errc() || numbers.back() < 0 || (end != stop && *end != '.')) numbers.clear();
    if (numbers.empty()) break;
    at = end;
  }
  if (numbers.size() != 2 && numbers.size() != 3) {
    fail("removed: expected layer.head or layer.head.token, got '{}'", excerpt(text, 20));
  }
  return numbers;
}

std::vector<Intervention> interventions_of(const Json& removed, const Model& model, const Example& example) {
  std::vector<Intervention> changes;
  if (!removed.is_array() || removed.size() > 4096) fail("removed: expected a list of up to 4096 names");
  for (const Json& name : removed) {
    const std::vector<int> place = place_of(name);
    const Heads head{place[0], place[1]};
    if (head.layer >= model.layers() || head.head >= model.heads()) {
      no_such_head("removed", head.layer, head.head, model.layers(), model.heads());
    }
    const int token = place.size() == 3 ? place[2] : 0;
    if (token >= std::ssize(example.tokens)) fail("removed: no token {} in the text", token);
    changes.push_back(place.size() == 2 ? ablate(head) : cut(head, Edge{example.query, {token, token + 1}}));
  }
  return changes;
}

// Returns the probabilities of the answers at each token, (T, answers) or (1, answers) at the query alone.
Tensor probabilities(const Model& model, const Batch& asked, const std::vector<Intervention>& changes) {
  Tensor logits = logits_under(changes, model, model.head().has_token_logits() ? Batch{.tokens = asked.tokens} : asked);
  logits = reshape(logits, {-1, logits.size(logits.rank() - 1)});
  return softmax(logits.to(DType::float32));
}

class AnswerList {
 public:
  AnswerList(const Model& model, const Example& example) : model_(model), example_(example) {}

  // Returns [[answer, probability, probability before], ...] of one row of probabilities.
  Json of(std::span<const float> now, std::span<const float> before) const {
    std::vector<std::size_t> order = largest_of(now, listed_answers);
    const auto first = static_cast<std::size_t>(std::max_element(before.begin(), before.end()) - before.begin());
    if (std::ranges::count(order, first) == 0) order.back() = first;
    Json list = Json::array();
    for (const std::size_t i : order) {
      const std::string token = answer_text(model_, example_, static_cast<int>(i));
      list.push_back({page_answer(model_, example_, token), now[i], before[i]});
    }
    return list;
  }

 private:
  const Model& model_;
  const Example& example_;
};

std::span<const float> row_of(const Tensor& probabilities, std::int64_t row) {
  const auto width = static_cast<std::size_t>(probabilities.size(1));
  return {probabilities.data<float>() + static_cast<std::size_t>(row) * width, width};
}

// Returns the contribution of each head to the logit of each token's first answer, (T, layers heads), with the final norm
// linearised. Returns an undefined tensor where a norm follows the heads' sum: then no such contribution exists.
Tensor direct_contributions(const Model& model, const Trace& seen, const Tensor& probabilities) {
  const Transformer& transformer = model.transformer();
  const auto is_direct = [](const TransformerBlock& block) {
    return block.residual && !block.attention_norms.output && !block.attention_norms.sum &&
           !(block.mlp && block.mlp_norms->sum);
  };
  if (!std::ranges::all_of(transformer.blocks, is_direct)) return {};
  std::vector<Tensor> rows;
  for (std::int64_t t = 0; t < probabilities.size(0); ++t) {
    std::vector<Tensor> heads;  // (H, d_model) per layer
    for (std::size_t l = 0; l < seen.layers.size(); ++l) {
      const TransformerBlock& block = transformer.blocks[l];
      const Tensor& all = seen.layers[l].head_output;  // (1, H, T, d_v)
      std::vector<Tensor> attended;
      for (int head = 0; head < block.attention.config.heads; ++head) {
        const Tensor z = slice(slice(all, 1, head, head + 1), 2, t, t + 1);
        attended.push_back(block.attention.head_output(head, reshape(z, {1, all.size(3)})));
      }
      heads.push_back(block.added_linearised().linear(concat(attended, 0)));
    }
    const std::span<const float> p = row_of(probabilities, t);
    const auto first = static_cast<int>(std::ranges::max_element(p) - p.begin());
    const Tensor at = reshape(contiguous(slice(seen.layers.back().residual_out, 1, t, t + 1)), {-1});
    const Linearised to_logit = model.head().unembedding->linearised(first);
    const Linearised whole = transformer.final_norm ? transformer.final_norm->linearised(at).then(to_logit) : to_logit;
    rows.push_back(reshape(whole.linear(concat(heads, 0)), {1, -1}));
  }
  return concat(rows, 0);
}

}  // namespace

Json ServedModel::description() const {
  const bool is_next = model_.head().generates();
  const bool is_of_text = model_.tokenizer.is_of_text();
  return {{"step", model_.step},
          {"isNext", is_next},
          {"hasCandidates", model_.head().chooses_candidates()},
          {"canContinue", is_next && is_of_text},
          {"context", std::min<std::int64_t>(max_tokens, model_.transformer().config.max_length)},
          {"queries", model_.queries},
          {"vocabulary", Json::array()},
          {"unit", "tokens"},
          {"gap", is_of_text || model_.tokenizer.split() == Split::characters ? "" : " "}};
}

Json ServedModel::answer(const std::string& what, const Json& request, const std::function<bool()>& has_left) const {
  const NoRecording unrecorded;
  if (what == "understand") {
    const Json& text = field(request, "text");
    if (!text.is_string()) fail("text: expected a string");
    try {
      return understand(text.get<std::string>());
    } catch (const Error& error) {
      return {{"problem", error.what()}};
    }
  }
  const Example example = example_of(field(request, "text"));
  if (what == "read") return read(example, field(request, "removed"));
  if (what == "continue") return go_on(example, integer(field(request, "count"), "count", 1, max_continued), has_left);
  if (what == "why") return why(example, request);
  if (what == "circuits") return circuits(example, request);
  fail("expected {}, got '{}'", fmt::join(requests, ", "), excerpt(what, 20));
}

Json ServedModel::understand(const std::string& text) const {
  Example example;
  const bool is_masked = model_.head().fills_masks();
  try {
    example = question(model_, text);
  } catch (const Error&) {
    if (!is_masked) throw;
    example.tokens = model_.tokenizer(text);  // without a mask: asked at its last token
    example.query = static_cast<int>(example.tokens.size()) - 1;
  }
  if (example.tokens.empty()) fail("the sentence is empty");
  if (example.tokens.size() > max_tokens) {
    fail("expected at most {} tokens, got {}", max_tokens, example.tokens.size());
  }
  batch_of(model_, example);
  Json candidates;
  for (const Span& span : example.candidates) candidates.push_back({span.begin, span.end});
  return {{"tokens", page_tokens(model_, example.tokens)},
          {"pieces", example.tokens},
          {"query", example.query},
          {"candidates", candidates}};
}

Example ServedModel::example_of(const Json& text) const {
  Example example;
  const Json& pieces = field(text, "pieces");
  if (!pieces.is_array() || pieces.empty() || pieces.size() > max_tokens) {
    fail("pieces: expected a list of 1 to {} tokens", max_tokens);
  }
  for (const Json& piece : pieces) {
    if (!piece.is_string()) fail("pieces: expected strings");
    example.tokens.push_back(piece.get<std::string>());
  }
  const int T = static_cast<int>(pieces.size());
  example.query = integer(field(text, "query"), "query", 0, T - 1);
  example.sentences = sentence_numbers(example.tokens);
  if (text.contains("candidates") && !text["candidates"].is_null()) {
    const Json& spans = text["candidates"];
    if (!spans.is_array() || spans.size() > pieces.size()) fail("candidates: expected a list of [first, end]");
    for (const Json& span : spans) {
      if (!span.is_array() || span.size() != 2) fail("candidates: expected a list of [first, end]");
      const int begin = integer(span[0], "candidates", 0, T - 1);
      example.candidates.push_back({begin, integer(span[1], "candidates", begin + 1, T)});
    }
  }
  return example;
}

Json ServedModel::read(const Example& example, const Json& removed) const {
  const Batch asked = batch_of(model_, example);
  const std::vector<Intervention> changes = interventions_of(removed, model_, example);
  Json heads = Json::array(), answers = Json::array(), bits, direct;
  const Trace seen = trace(model_, asked, changes);
  for (const LayerTrace& layer : seen.layers) {
    if (!is_finite(layer.weights)) fail("the weights are not finite");
    for (std::int64_t h = 0; h < layer.weights.size(1); ++h) {
      heads.push_back(base64(pack_weights(slice(layer.weights, 1, h, h + 1).to(DType::float32))));
    }
  }
  if (model_.head().exists()) {
    const Tensor now = probabilities(model_, asked, changes);
    const Tensor before = changes.empty() ? now : probabilities(model_, asked, {});
    if (!is_finite(now)) fail("the answers are not finite");
    const AnswerList list(model_, example);
    const std::int64_t T = std::ssize(example.tokens);
    for (std::int64_t t = 0; t < T; ++t) {
      const std::int64_t row = now.size(0) == T ? t : 0;
      const bool is_known = now.size(0) == T || t == example.query || model_.head().classifies();
      answers.push_back(is_known ? list.of(row_of(now, row), row_of(before, row)) : Json::array());
    }
    if (model_.head().generates()) {
      const Tensor values = direct_contributions(model_, seen, now);
      if (values.defined()) {
        const Tensor all = contiguous(values.to(DType::float32));
        direct = base64(float32_bytes({all.data<float>(), static_cast<std::size_t>(all.numel())}));
      }
      bits = Json::array({nullptr});
      for (std::int64_t t = 1; t < T; ++t) {
        const double p = row_of(now, t - 1)[static_cast<std::size_t>(asked.tokens[t])];
        bits.push_back(p > 0 ? Json(-std::log2(p)) : Json());
      }
    }
  }
  return {{"attention", heads}, {"answers", answers}, {"bits", bits}, {"direct", direct}};
}

Json ServedModel::why(const Example& example, const Json& edge) const {
  const int T = static_cast<int>(example.tokens.size());
  const auto number = [&](const char* name, int least, int end) {
    return integer(field(edge, name), name, least, end - 1);
  };
  const int layer = number("layer", 0, model_.layers()), head = number("head", 0, model_.heads());
  const int from = number("from", 0, T), to = number("to", 0, T), rather = number("rather", -1, T);
  const ScoreParts parts =
      score_parts(model_, example, layer, head, {.from = from, .to = to, .rather = rather, .in_float64 = false});
  Json json = score_parts_json(parts);
  json.erase("tokens");  // a token may be a part of a character
  json["answer"] = parts.answer.empty() ? "" : page_answer(model_, example, parts.answer);
  return json;
}

Json ServedModel::circuits(const Example& example, const Json& of) const {
  const int layer = integer(field(of, "layer"), "layer", 0, model_.layers() - 1);
  const int head = integer(field(of, "head"), "head", 0, model_.heads() - 1);
  const Batch asked = batch_of(model_, example);
  std::vector<std::int32_t> tokens;
  Json words = Json::array();
  for (std::int64_t t = 0; t < std::ssize(example.tokens) && tokens.size() < max_words; ++t) {
    if (std::ranges::count(tokens, asked.tokens[t]) > 0) continue;
    tokens.push_back(asked.tokens[t]);
    words.push_back(page_token(model_, example.tokens[static_cast<std::size_t>(t)]));
  }
  const TokenCircuits found = token_circuits(model_, Ids({std::ssize(tokens)}, tokens), layer, head);
  // Lists the largest of each row, whose columns have these names.
  const auto rows = [&](const Tensor& table, const auto& name) {
    if (!is_finite(table)) fail("the circuits are not finite");
    const Tensor values = contiguous(table.to(DType::float32));
    Json all = Json::array();
    for (std::int64_t r = 0; r < values.size(0); ++r) {
      Json& list = all.emplace_back(Json::array());
      const std::span<const float> row = row_of(values, r);
      for (const std::size_t i : largest_of(row, max_pairs)) list.push_back({name(i), row[i]});
    }
    return all;
  };
  const auto answer_name = [&](std::size_t i) {
    return page_token(model_, answer_text(model_, example, static_cast<int>(i)));
  };
  return {{"words", words},
          {"which", "The words of the text. "},
          {"QK", rows(found.attends, [&](std::size_t i) { return words[i]; })},
          {"OV", found.raises.defined() ? rows(found.raises, answer_name) : Json()}};
}

Json ServedModel::go_on(const Example& example, int count, const std::function<bool()>& has_left) const {
  Generation wanted;
  wanted.tokens = count;
  wanted.seed = example.tokens.size();
  for (const std::string& token : example.tokens) wanted.prompt += model_.tokenizer.written(token);
  TerminalText safe;
  std::string written;
  bool is_begin = true;
  const Generated generated = generate(model_, wanted, [&](std::string_view piece) {
    if (!is_begin) written += safe.add(piece);
    is_begin = false;
    return !has_left || !has_left();
  });
  return {{"pieces", generated.tokens},
          {"written", written + safe.finish()},
          {"ended", generated.ended_by == Ending::end_token}};
}

}  // namespace heed

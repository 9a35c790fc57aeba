#pragma once
#include "tokenizers/internal/json.h"

#include <heed/data/task.h>
#include <heed/formats/saved_model.h>

#include <array>
#include <functional>
#include <string>
#include <string_view>

namespace heed {

/// Computes what a served page asks about a model (inspect/page/served.js), with requests and answers as JSON. A text is
/// {"pieces": [token, ...], "query": index, "candidates": [[first, end], ...]}; the last is optional.
///
///   const ServedModel served(model);
///   const Json text = served.answer("understand", {{"text", "To be or not to"}});
///   const Json reading = served.answer("read", {{"text", text}, {"removed", {"0.1", "2.3.0"}}});
///
/// understand  {"text"} -> a text with "tokens", its tokens as the page shows them; or {"problem"}
/// read        {"text", "removed"} -> {"attention", "answers", "bits", "direct"}. "removed" names heads "layer.head" and edges from the
///             query "layer.head.token", from 0. "attention" has pack_weights() in base64 per head, layer by layer; "answers"
///             has [[answer, probability, probability with nothing removed], ...] per token, the ten most probable first, and
///             [] where the model answers at the query alone; "bits" has -log2 of the probability of each token of a language
///             model given those before it, null for the first; "direct" has the direct contribution of each head to the
///             logit of each token's first answer, (T, layers x heads) float32 in base64, or null where a norm follows the heads.
/// why         {"text", "layer", "head", "from", "to", "rather"} -> score_parts_json() of that edge, compared with the key
///             "rather"; -1: with the mean over all keys
/// circuits    {"text", "layer", "head"} -> {"words", "which", "QK", "OV"}: for each of the text's first 64 different tokens,
///             [[token, value], ...], the 12 largest of its row of token_circuits(); "OV" is null where there is none
/// continue    {"text", "count"} -> {"pieces", "written", "ended"}: a sampled continuation of a language model's text
///
/// Throws Error for a request in another form, and for a text that the model cannot read.
class ServedModel {
 public:
  /// The model must outlive this object.
  explicit ServedModel(const Model& model) : model_(model) {}

  /// Returns what the page says of its engine: "isNext", "hasCandidates", "canContinue", ... (inspect/page/engine.js).
  Json description() const;
  /// Ends a continuation at the next token when has_left() returns true.
  Json answer(const std::string& what, const Json& request, const std::function<bool()>& has_left = {}) const;

  /// Names of the requests.
  static constexpr std::array<std::string_view, 5> requests{"understand", "read", "why", "circuits", "continue"};
  /// Number of tokens up to which a text is read.
  static constexpr std::size_t max_tokens = 512;
  /// Number of tokens up to which "continue" goes.
  static constexpr int max_continued = 64;

 private:
  Json understand(const std::string& text) const;
  Json read(const Example& example, const Json& removed) const;
  Json why(const Example& example, const Json& edge) const;
  Json circuits(const Example& example, const Json& of) const;
  Json go_on(const Example& example, int count, const std::function<bool()>& has_left) const;
  Example example_of(const Json& text) const;

  const Model& model_;
};

}  // namespace heed

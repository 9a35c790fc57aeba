#pragma once
#include <heed/data/task.h>
#include <heed/models/model.h>

#include <string>
#include <string_view>

namespace heed {

/// Turns `text` into a question for the model. The question is asked at the last token `query`. With an empty `query` a language model
/// and a model without a head are asked at the last token, a masked language model at the last `<mask>` or `[MASK]`, and others at the
/// last token among model.queries; one that tells the class of a text is asked where its head reads, and takes no other `query`. A text
/// of several sentences ends with the question, for models that count sentences. A full stop at the end that the model does not know is
/// left out. Brackets mark the candidates for a model that chooses among candidates. Throws `Error` when the text has no such token.
Example question(const Model& model, std::string_view text, const std::string& query = "");

/// Returns a question for the tokens with these ids: those of one text, and of the model's template if it adds any. With an empty `query`
/// it is asked at the token of the text's question. Throws `Error` for ids outside of the vocabulary, without such a token, and for a
/// model that chooses among candidates.
Example question(const Model& model, const std::vector<std::int32_t>& ids, const std::string& query = "");

/// Returns the ids of the tokens of a text, of those that the template adds only `with_template`. Throws `Error` for unknown words, and
/// for a pretrained model without a tokenizer. model.tokenizer.join(tokens_of(model, ids)) is the text again.
///
///     const std::vector<std::int32_t> ids = token_ids(model, "a cat");
std::vector<std::int32_t> token_ids(const Model& model, std::string_view text, bool with_template = true);

/// Returns the tokens with these ids. Throws `Error` for ids outside of the vocabulary.
std::vector<std::string> tokens_of(const Model& model, const std::vector<std::int32_t>& ids);

/// Returns whether a token is a full stop, and not among those that the model knows.
bool is_unknown_full_stop(const Model& model, std::string_view token);

/// Returns texts as a batch for the model's transformer, one per row, with the tokens that its template adds ([CLS], [SEP]).
/// Short ones are padded, and sentences are numbered as by question(). Cuts words at the end of a text with more than `max_length`
/// tokens; the tokens that the template adds stay. 0: cuts none. Throws `Error` for a text that is empty, longer than the
/// model's maximum or of too many sentences, for unknown words, and for a pretrained model without a tokenizer.
///
///     const Batch texts = encode(model, {"The animal was tired.", "The street was wide."});
///     const Tensor states = model.transformer()(texts).output;   // (2, T, d_model)
Batch encode(const Model& model, const std::vector<std::string>& texts, std::int64_t max_length = 0);

/// Throws `Error` for a pretrained model that came without a tokenizer.
void check_tokenizer(const Model& model);

/// Throws `Error` when ids of a text hold the padding of a model with RoBERTa's positions, which do not count it.
void check_positions(const TransformerConfig& config, const std::vector<std::int32_t>& tokens);

/// Returns the question of one example as a batch, at the place where its head reads for a model that tells the class of a text. A
/// text without sentence numbers is one sentence. Throws `Error` when it is longer than the model's maximum or holds unknown words.
Batch batch_of(const Model& model, const Example& example);

/// Returns the index of the logit of the correct answer: a word, a class, a candidate, or the index after the candidates for
/// "none of them"; -1 if no logit represents it.
int right_answer(const Model& model, const Example& example);

/// Returns the text of answer `index`: a word, the words of a candidate, the name of a class, or "(none)".
std::string answer_text(const Model& model, const Example& example, int index);

/// Returns whether one of `tokens` contains `word` among other characters, in a script without spaces: "它" in "因为它太累了".
bool is_run_together(const std::string& word, const std::vector<std::string>& tokens);

/// Returns the last token of the last word that is `word`, or the last token of that name; -1 when the text has neither.
int last_token_of(const std::string& word, const PretrainedTokenizer& tokenizer, std::string_view text);

/// Returns the index of each token's sentence, counted back from the last sentence.
std::vector<int> sentence_numbers(const std::vector<std::string>& tokens);

/// Returns whether the model's tokens hold the spaces of a text, as those of a language model trained by heed do.
bool holds_spaces(const Model& model);

/// Returns whether the model answers questions about sentences and uses subwords. Its attention is then shown for whole
/// words.
bool reads_pieces(const Model& model);

}  // namespace heed

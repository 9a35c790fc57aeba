#include "tokenizers/pipeline/added_tokens.h"
#include "tokenizers/pipeline/model.h"
#include "tokenizers/pipeline/regex.h"
#include "tokenizers/pipeline/steps.h"
#include "tokenizers/pipeline/unicode.h"

#include <heed/tokenizers/pretrained_tokenizer.h>
#include <heed/tokenizers/tokenize.h>

#include <algorithm>

namespace heed {
namespace {

constexpr int deepest_json = 16;

std::string unused_name(int id) { return fmt::format("<unused {}>", id); }

// The words of a text, in order.
struct WordPlace {
  std::size_t begin, end;
};
std::vector<WordPlace> word_places(std::string_view text) {
  std::vector<WordPlace> places;
  std::size_t at = 0;
  for (const std::string& word : tokenize(text, Split::words)) {
    const std::size_t begin = text.find(word, at);
    at = begin + word.size();
    places.push_back({begin, at});
  }
  return places;
}

}  // namespace

struct PretrainedTokenizer::Parts {
  std::string json;
  tokenizers::ModelAndTokens vocabulary;
  tokenizers::Normalizer normalizer;  // empty without one, as the next
  tokenizers::PreTokenizer pre_tokenizer;
  tokenizers::Decoder decoder;
  tokenizers::AddedTokens added;
  std::vector<int> before, behind;  // ids that the template adds
  std::vector<std::string> names;   // by id, all different
  Special special;

  int find(std::string_view token) const {
    if (const tokenizers::AddedToken* found = added.find(token)) return found->id;
    return vocabulary.tokens->find(token);
  }
  // The name of an id in the file; "" for an id without a token.
  std::string name_in_file(int id) const {
    if (const tokenizers::AddedToken* found = added.find(id)) return found->content;
    const std::string* name = vocabulary.tokens->name(id);
    return name ? *name : "";
  }
  bool is_known(std::int64_t id) const {
    return id >= 0 && id < std::ssize(names) && !name_in_file(static_cast<int>(id)).empty();
  }

  void name_all() {
    const int size = std::max(vocabulary.tokens->size(), added.size());
    for (int id = 0; id < size; ++id) {
      std::string name = name_in_file(id);
      if (name.empty() || find(name) != id) {
        name = unused_name(id);
        while (find(name) >= 0) name += '>';
      }
      names.push_back(std::move(name));
    }
  }

  std::vector<int> checked(const tokenizers::Part& part, const std::vector<std::int64_t>& ids) const {
    for (const std::int64_t id : ids) {
      if (!is_known(id)) part.wrong("id {} belongs to no token", id);
    }
    return {ids.begin(), ids.end()};
  }

  std::optional<int> first_of(std::initializer_list<std::string_view> tokens) const {
    for (const std::string_view token : tokens) {
      if (const int id = find(token); id >= 0) return id;
    }
    return {};
  }

  void find_special(const tokenizers::Part& file) {
    if (!before.empty()) special.cls = special.bos = before.front();
    if (!behind.empty()) special.sep = special.eos = behind.back();
    if (!special.cls) special.cls = first_of({"[CLS]", "<cls>"});
    if (!special.sep) special.sep = first_of({"[SEP]", "<sep>"});
    if (!special.bos) special.bos = first_of({"<s>", "<bos>", "<|begin_of_text|>", "<|endoftext|>"});
    if (!special.eos) special.eos = first_of({"</s>", "<eos>", "<|end_of_text|>", "<|endoftext|>"});
    special.mask = first_of({"[MASK]", "<mask>"});
    special.pad = first_of({"[PAD]", "<pad>"});
    if (file.find("padding")) {
      if (const auto id = file.part("padding").given_count("pad_id"); id && is_known(*id))
        special.pad = static_cast<int>(*id);
    }
    if (const int id = vocabulary.model->unknown(); id >= 0) special.unk = id;
  }

  void number_words(std::string_view text, std::vector<EncodedToken>& tokens) const {
    const std::vector<WordPlace> words = word_places(text);
    int number = -1;
    const WordPlace* last = nullptr;
    for (EncodedToken& token : tokens) {
      std::size_t begin = token.begin;
      for (std::size_t next = begin;
           next < token.end && tokenizers::is_white_space(tokenizers::next_code_point(text, next));)
        begin = next;
      const auto found = std::ranges::upper_bound(words, begin, {}, &WordPlace::end);
      const tokenizers::AddedToken* added_token = added.find(token.id);
      const bool has_word = begin < token.end && found != words.end() && found->begin < token.end &&
                            !(added_token && added_token->is_special);
      const WordPlace* word = has_word ? &*found : nullptr;
      if (!word || word != last) ++number;
      token.word = number;
      last = word;
    }
  }
};

PretrainedTokenizer::PretrainedTokenizer(std::string json) {
  using tokenizers::Part;
  auto parts = std::make_shared<Parts>();
  const LargeJson content = parse_large_json(json, deepest_json);
  const Part file(content, "the file");
  file.expect_keys({"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "post_processor",
                    "decoder", "model"});
  const auto part = [&](const char* key) { return Part(file.object(key), key); };
  parts->vocabulary = tokenizers::make_model(part("model"));
  if (file.find("normalizer")) parts->normalizer = tokenizers::make_normalizer(part("normalizer"));
  if (file.find("pre_tokenizer")) parts->pre_tokenizer = tokenizers::make_pre_tokenizer(part("pre_tokenizer"));
  if (file.find("decoder")) parts->decoder = tokenizers::make_decoder(part("decoder"));
  parts->added = tokenizers::AddedTokens(file, *parts->vocabulary.tokens, parts->normalizer);
  parts->name_all();
  if (file.find("post_processor")) {
    const Part processor = part("post_processor");
    const tokenizers::Template found = tokenizers::make_template(processor);
    parts->before = parts->checked(processor, found.before);
    parts->behind = parts->checked(processor, found.behind);
  }
  parts->find_special(file);
  parts->json = std::move(json);
  parts_ = std::move(parts);
}

std::vector<EncodedToken> PretrainedTokenizer::encode(std::string_view text, bool add_special) const {
  checked_utf8(text, "text");
  if (text.size() > UINT32_MAX) fail("text: {} bytes are more than a tokenizer takes at once", text.size());
  const tokenizers::SearchTime time(text.size());
  tokenizers::Pieces pieces = parts_->added.divide(text, parts_->normalizer);
  if (parts_->pre_tokenizer) parts_->pre_tokenizer(pieces);
  std::vector<EncodedToken> tokens;
  if (add_special) {
    for (const int id : parts_->before) tokens.push_back({id, 0, 0});
  }
  std::vector<tokenizers::PieceToken> of_piece;
  for (const tokenizers::Piece& piece : pieces.pieces) {
    of_piece.clear();
    const std::size_t size = piece.end - piece.begin;
    if (piece.id >= 0) of_piece.push_back({piece.id, 0, size});
    if (piece.id < 0)
      parts_->vocabulary.model->encode(std::string_view(pieces.text.bytes).substr(piece.begin, size), of_piece);
    for (const tokenizers::PieceToken& token : of_piece) {
      const tokenizers::Origin origin = pieces.text.origin_of(piece.begin + token.begin, piece.begin + token.end);
      tokens.push_back({token.id, origin.begin, origin.end});
    }
  }
  if (add_special) {
    for (const int id : parts_->behind) tokens.push_back({id, text.size(), text.size()});
  }
  parts_->number_words(text, tokens);
  return tokens;
}

std::string PretrainedTokenizer::decode(const std::vector<int>& ids, bool keep_special) const {
  std::vector<std::string> tokens;
  for (const int id : ids) {
    const std::string& name = token(id);
    const tokenizers::AddedToken* added = parts_->added.find(id);
    if ((added && added->is_special && !keep_special) || !parts_->is_known(id)) continue;
    tokens.push_back(added ? added->normalized : name);
  }
  std::string text;
  const bool has_decoder = static_cast<bool>(parts_->decoder);
  if (has_decoder) tokens = parts_->decoder(std::move(tokens), tokenizers::Decoded::text);
  for (const std::string& part : tokens) {
    if (!text.empty() && !has_decoder) text += ' ';
    text += part;
  }
  return text;
}

std::string PretrainedTokenizer::written(int id) const {
  const tokenizers::AddedToken* added = parts_->added.find(id);
  const std::string& name = added ? added->normalized : token(id);
  std::string text;
  if (!parts_->is_known(id)) return text;
  if (!parts_->decoder) return text.append(" ").append(name);
  for (const std::string& part : parts_->decoder({name}, tokenizers::Decoded::part)) text += part;
  return text;
}

const std::string& PretrainedTokenizer::token(int id) const {
  if (id < 0 || id >= size()) fail("id {} belongs to no token; the tokenizer has {}", id, size());
  return parts_->names[static_cast<std::size_t>(id)];
}

std::optional<int> PretrainedTokenizer::id(std::string_view token) const {
  const int id = parts_->find(token);
  return id >= 0 ? std::optional<int>(id) : std::nullopt;
}

int PretrainedTokenizer::size() const { return static_cast<int>(parts_->names.size()); }

bool PretrainedTokenizer::is_special(int id) const {
  const tokenizers::AddedToken* added = parts_->added.find(id);
  return added && added->is_special;
}

int PretrainedTokenizer::size_without_added() const { return parts_->vocabulary.tokens->size(); }

std::vector<std::string> PretrainedTokenizer::tokens() const { return parts_->names; }

std::vector<std::string> PretrainedTokenizer::tokens(int rows) const {
  std::vector<std::string> result(parts_->names.begin(), parts_->names.begin() + std::clamp(rows, 0, size()));
  for (int id = size(); id < rows; ++id) {
    std::string name = unused_name(id);
    while (parts_->find(name) >= 0) name += '>';
    result.push_back(std::move(name));
  }
  return result;
}

const PretrainedTokenizer::Special& PretrainedTokenizer::special() const { return parts_->special; }

const std::vector<int>& PretrainedTokenizer::before() const { return parts_->before; }

const std::vector<int>& PretrainedTokenizer::behind() const { return parts_->behind; }

const std::string& PretrainedTokenizer::json() const { return parts_->json; }

}  // namespace heed

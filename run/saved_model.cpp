#include "run/saved_model.h"

#include "run/answers.h"

#include <heed/autograd/record.h>
#include <heed/files/safetensors.h>
#include <heed/files/utf8.h>
#include <heed/nn/hook.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <new>

namespace heed {
namespace {

constexpr int largest_size = 1 << 24;  // of anything in a file
constexpr int most_turning_elements = 1 << 26;

template <class E>
E read_name(const Json& value) {
  const auto known = value_named<E>(value.get<std::string>());
  if (!known) fail("expected one of {}, got '{}'", listed(names_of<E>()), excerpt(value.get<std::string>()));
  return *known;
}

// The fields of a configuration, to and from a JSON object.
struct FieldWriter {
  Json& object;
  Usual of_usual;
  void operator()(const char* name, int value, int) { object[name] = value; }
  void operator()(const char* name, int value, int, int usual) {
    if (value != usual || of_usual == Usual::written) object[name] = value;
  }
  void operator()(const char* name, Bias value) { object[name] = value == Bias::yes; }
  template <HasNames E>
  void operator()(const char* name, E value) {
    object[name] = name_of(value);
  }
  template <HasNames E>
  void operator()(const char* name, E value, E usual) {
    if (value != usual || of_usual == Usual::written) object[name] = name_of(value);
  }
  void operator()(const char* name, const AttentionConfig& value) {
    AttentionConfig::for_each_field(value, FieldWriter{object[name] = Json::object(), of_usual});
  }
};

struct FieldReader {
  const Json& object;
  void operator()(const char* name, int& value, int least) {
    const Json& given = object.at(name);
    if (!given.is_number_integer() || given < least || given > largest_size) {
      fail("'{}' must be an integer from {} to {}, got {}", name, least, largest_size, format_json(given));
    }
    value = given;
  }
  void operator()(const char* name, int& value, int least, int usual) {
    value = usual;
    if (object.contains(name)) (*this)(name, value, least);
  }
  void operator()(const char* name, Bias& value) { value = object.at(name).get<bool>() ? Bias::yes : Bias::no; }
  template <HasNames E>
  void operator()(const char* name, E& value) {
    value = read_name<E>(object.at(name));
  }
  template <HasNames E>
  void operator()(const char* name, E& value, E usual) {
    value = object.contains(name) ? read_name<E>(object.at(name)) : usual;
  }
  void operator()(const char* name, AttentionConfig& value) {
    AttentionConfig::for_each_field(value, FieldReader{object.at(name)});
  }
};

// No more numbers than a model of this shape has, even with tied matrices.
double least_elements(const ReaderConfig& config) {
  const AttentionConfig& a = config.attention;
  const double d = a.d_model;
  const double d_k = a.d_k > 0 ? a.d_k : d / a.heads;
  const double d_v = a.d_v > 0 ? a.d_v : d / a.heads;
  const double rows =
      config.vocabulary + config.sentences + (config.positions == Positions::learned ? config.max_length : 0);
  return d * (rows + config.layers * (a.heads * (d_k + d_v) + 2.0 * config.mlp));
}

// Of the tables by which rotary positions turn, which the file does not hold.
double turning_elements(const ReaderConfig& config) {
  if (config.positions != Positions::rotary) return 0;
  const AttentionConfig& a = config.attention;
  return 1.0 * config.layers * config.max_length * (a.d_k > 0 ? a.d_k : a.d_model / a.heads);
}

void check_finite(const std::string& name, const Tensor& values, const std::string& file) {
  if (is_finite(values)) return;
  const std::vector<double> all = values.to_vector();
  const auto bad = std::ranges::find_if(all, [](double value) { return !std::isfinite(value); });
  fail(
      "{}: tensor '{}' {}: value {} (from 0) is {}, which is not finite; the file is damaged, or its training diverged",
      file, name, to_string(values.shape()), bad - all.begin(), *bad);
}

}  // namespace

Json to_json(const ReaderConfig& config, Usual usual) {
  Json object = Json::object();
  ReaderConfig::for_each_field(config, FieldWriter{object, usual});
  return object;
}

std::filesystem::path model_path(const std::filesystem::path& run) { return run / "model.safetensors"; }

std::filesystem::path best_model_path(const std::filesystem::path& run) { return run / "best.safetensors"; }

std::filesystem::path held_out_path(const std::filesystem::path& run) { return run / "held_out.jsonl"; }

void save_model(const std::filesystem::path& path, const SavedModel& model) {
  SafeTensors content;
  content.tensors.assign(model.parameters.begin(), model.parameters.end());
  content.metadata = {{"heed.model", format_json(to_json(model.reader->config))},
                      {"heed.vocabulary", format_json(model.vocabulary.words())},
                      {"heed.queries", format_json(model.queries)},
                      {"heed.split", name_of(model.tokenizer.split())},
                      {"heed.step", std::to_string(model.step)}};
  if (const auto unknown = model.vocabulary.unknown()) {
    content.metadata["heed.unknown"] = model.vocabulary.word(*unknown);
  }
  if (model.tokenizer.is_of_text()) content.metadata["heed.of"] = "text";
  if (const auto& subwords = model.tokenizer.subwords()) {
    content.metadata["heed.subwords"] =
        format_json(std::vector<std::uint8_t>(subwords->model().begin(), subwords->model().end()));
  }
  write_safetensors(path, content);
}

SavedModel load_model(const std::filesystem::path& path) {
  const std::string file = path.string();
  const SafeTensors content = read_safetensors(path);
  const auto metadata = [&](const char* name) -> const std::string& {
    const auto found = content.metadata.find(name);
    if (found == content.metadata.end()) fail("{}: is no model saved by train: its metadata has no '{}'", file, name);
    return found->second;
  };
  const auto parsed = [&](const char* name, auto&& parse) {
    const std::string& text = metadata(name);
    try {
      return parse(text);
    } catch (const std::exception& error) {
      fail("{}: metadata '{}': {}", file, name, message_of(error));
    }
  };
  const auto words = [](const std::string& text) { return parse_json(text).get<std::vector<std::string>>(); };

  SavedModel model;
  model.vocabulary = parsed("heed.vocabulary", [&](const std::string& text) { return Vocabulary(words(text)); });
  if (content.metadata.contains("heed.unknown")) {
    if (!model.vocabulary.contains(metadata("heed.unknown"))) {
      fail("{}: metadata 'heed.unknown': '{}' is none of its words", file, excerpt(metadata("heed.unknown")));
    }
    model.vocabulary.let_stand_for_unknown(metadata("heed.unknown"));
  }
  model.queries = parsed("heed.queries", words);
  const Split split = parsed("heed.split", [](const std::string& text) { return read_name<Split>(text); });
  model.tokenizer = content.metadata.contains("heed.of") ? Tokenizer::of_text(split) : Tokenizer(split);
  if (split == Split::subwords) {
    model.tokenizer = Tokenizer::of_text(parsed("heed.subwords", [](const std::string& text) {
      const auto bytes = parse_json(text).get<std::vector<std::uint8_t>>();
      return Subwords(std::string(bytes.begin(), bytes.end()));
    }));
    if (model.tokenizer.subwords()->words() != model.vocabulary.words()) {
      fail("{}: metadata 'heed.subwords': its words are not those of 'heed.vocabulary'", file);
    }
  }
  model.step = parsed("heed.step", [](const std::string& text) {
    const std::int64_t step = parse_json(text).get<std::int64_t>();
    if (step < 0) fail("a step must not be negative, got {}", step);
    return step;
  });
  const ReaderConfig config = parsed("heed.model", [&](const std::string& text) {
    ReaderConfig read;
    read.vocabulary = model.vocabulary.size();
    ReaderConfig::for_each_field(read, FieldReader{parse_json(text)});
    return read;
  });

  double elements = 0;
  for (const auto& [name, values] : content.tensors) elements += static_cast<double>(values.numel());
  if (least_elements(config) > elements) {
    fail("{}: the model that it describes has at least {} parameters, its tensors hold {}", file,
         least_elements(config), elements);
  }
  if (turning_elements(config) > most_turning_elements) {
    fail("{}: the rotary positions that it describes have {} numbers, at most {} are read", file,
         turning_elements(config), most_turning_elements);
  }
  model.reader = std::make_unique<Reader>(Scope(model.parameters, 0), config);
  model.parameters.load(content.tensors, file);
  for (const auto& [name, parameter] : model.parameters) check_finite(name, parameter, file);
  return model;
}

std::int64_t saved_step(const std::filesystem::path& path) {
  try {
    return parse_json(read_safetensors(path).metadata.at("heed.step")).get<std::int64_t>();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception&) {
    return 0;
  }
}

ReaderInput reader_input(const Batch& batch) {
  return {.tokens = batch.tokens,
          .lengths = batch.lengths,
          .query = batch.query,
          .sentences = batch.sentences,
          .candidates = batch.candidates};
}

ReaderInput reader_input(const Reader& reader, const Vocabulary& vocabulary, const Example& example) {
  const int T = static_cast<int>(example.tokens.size());
  std::vector<std::string> unknown;
  std::vector<std::int32_t> tokens;
  for (const std::string& token : example.tokens) {
    if (vocabulary.contains(token) || vocabulary.unknown()) {
      tokens.push_back(vocabulary[token]);
    } else {
      const bool is_listed = unknown.size() < 20;  // a hint looks at the whole vocabulary
      unknown.push_back(
          fmt::format("'{}'{}", excerpt(token), is_listed ? did_you_mean(token, vocabulary.words()) : ""));
    }
  }
  if (!unknown.empty()) {
    fail("not among the {} words that the model knows: {}", vocabulary.size(), listed(unknown));
  }
  if (T > reader.config.max_length && reader.config.predicts == Predicts::next) {
    fail("the text has {} tokens; the model sees {} at once", T, reader.config.max_length);
  }
  const Positions positions = reader.config.positions;
  if ((positions == Positions::learned || positions == Positions::rotary) && T > reader.config.max_length) {
    fail("the text has {} tokens; the model has positions for {}", T, reader.config.max_length);
  }
  ReaderInput input{.tokens = Ids({1, T}, tokens), .lengths = {T}, .query = Ids({1}, {example.query}), .sentences = {}};
  if (reader.config.answer != Answer::word) {
    if (example.candidates.empty()) {
      fail(
          "the model chooses among candidates; mark them with brackets: The [trophy] doesn't fit in [the suitcase] "
          "...");
    }
    std::vector<std::int32_t> places;
    for (const Span& span : example.candidates) places.insert(places.end(), {span.begin, span.end});
    input.candidates = Ids({1, std::ssize(example.candidates), 2}, std::move(places));
  }
  if (reader.config.sentences > 0) {
    if (example.sentences.size() != tokens.size()) fail("the model reads sentences; the text is not divided into them");
    const int most = *std::max_element(example.sentences.begin(), example.sentences.end()) + 1;
    if (most > reader.config.sentences) {
      fail("the text has {} sentences; the model reads up to {}", most, reader.config.sentences);
    }
    input.sentences = Ids({1, T}, {example.sentences.begin(), example.sentences.end()});
  }
  return input;
}

SentenceAttention attend(const Reader& reader, const Vocabulary& vocabulary, const Example& example) {
  const ReaderInput input = reader_input(reader, vocabulary, example);
  const Reader::Output output = reader(input, Weights::yes);
  const std::vector<double> probabilities = softmax(output.logits.to(DType::float64)).to_vector();
  if (!std::isfinite(probabilities[0])) fail_not_finite(reader, input);  // softmax makes NaN of all when one is not
  const auto best = std::max_element(probabilities.begin(), probabilities.end());
  SentenceAttention result{
      .tokens = example.tokens,
      .query = example.query,
      .antecedent = example.antecedent,
      .predicted = answer_text(reader, vocabulary, example, static_cast<int>(best - probabilities.begin())),
      .probability = *best,
      .layers = {},
      .candidates = example.candidates};
  for (const Tensor& weights : output.weights) {  // (1, heads, T, T)
    result.layers.push_back(reshape(weights, {weights.size(1), weights.size(2), weights.size(3)}).to(DType::float32));
  }
  return result;
}

void fail_not_finite(const Reader& reader, const ReaderInput& input) {
  std::string first = "logits";
  {
    bool found = false;
    const Hook hook([&](const std::string& name, const Tensor& value) {
      if (found || is_finite(value)) return;
      found = true;
      first = fmt::format("{} {}", name, to_string(value.shape()));
    });
    reader(input);
  }
  throw NotFinite(
      fmt::format("the model computes values that are not finite, the first of them in {}: its weights are too "
                  "large; the file is damaged, or its training diverged",
                  first));
}

bool reads_pieces(const SavedModel& model) {
  return model.tokenizer.subwords() && model.reader->config.predicts == Predicts::answer;
}

void check_same_model(const Dump& dump, const SavedModel& model, const std::string& file) {
  const int layers = model.reader->config.layers, heads = model.reader->config.attention.heads;
  for (const SentenceAttention& sentence : dump.sentences) {
    for (const Tensor& weights : sentence.layers) {
      if (std::ssize(sentence.layers) == layers && weights.size(0) == heads) continue;
      fail("{}: is of a model with {} layers of {} heads, the run's model has {} of {}: they are of different runs",
           file, sentence.layers.size(), weights.size(0), layers, heads);
    }
    for (const std::string& token : sentence.tokens) {
      if (model.vocabulary.contains(token) || model.vocabulary.unknown() || reads_pieces(model)) continue;
      fail("{}: the run's model does not know its word '{}': they are of different runs", file, token);
    }
  }
}

}  // namespace heed

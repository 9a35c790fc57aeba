#include "files/internal/ascii.h"
#include "tokenizers/internal/json.h"

#include <heed/autograd/ops.h>
#include <heed/files/file.h>
#include <heed/files/utf8.h>
#include <heed/formats/safetensors.h>
#include <heed/formats/saved_model.h>
#include <heed/run/dump.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace heed {
namespace {

std::string tensor_name(std::size_t sentence, std::size_t layer) {
  return fmt::format("sentence.{}.layer.{}", sentence, layer);
}

// Returns a whole number written in decimal digits, or -1 for any other text.
std::int64_t whole_number(std::string_view text) { return parse_number<std::int64_t>(text).value_or(-1); }

void check_weights(const Tensor& weights, std::int64_t T, const std::string& where) {
  if (weights.dtype() != DType::float32 || weights.rank() != 3 || weights.size(0) < 1 || weights.size(1) != T ||
      weights.size(2) != T) {
    fail("{}: expected float32 of shape (heads, {}, {}) for {} tokens, got {} {}", where, T, T, T,
         to_string(weights.dtype()), to_string(weights.shape()));
  }
  const Tensor rows = contiguous(weights);
  const float* row = rows.data<float>();
  for (std::int64_t r = 0; r < weights.size(0) * T; ++r, row += T) {
    double sum = 0;
    for (std::int64_t key = 0; key < T; ++key) {
      if (!(row[key] >= 0 && row[key] <= 1.001f)) {
        fail("{}: expected weights in [0, 1], got {} at head {}, query {}, key {} (from 0)", where, row[key], r / T,
             r % T, key);
      }
      sum += static_cast<double>(row[key]);
    }
    if (std::abs(sum - 1) > 1e-3) {
      fail("{}: expected a query's weights to sum to 1, got {:.6g} at head {}, query {} (from 0)", where, sum, r / T,
           r % T);
    }
  }
}

void check(const Dump& dump, const std::string& file) {
  if (dump.step < 0) fail("{}: step must not be negative, got {}", file, dump.step);
  for (std::size_t i = 0; i < dump.sentences.size(); ++i) {
    const SentenceAttention& sentence = dump.sentences[i];
    const int T = static_cast<int>(sentence.tokens.size());
    const std::string where = fmt::format("{}: sentence {}", file, i);
    if (T == 0) fail("{}: expected at least one token", where);
    if (sentence.query < 0 || sentence.query >= T) {
      fail("{}: query must be one of its tokens 0 to {}, got {}", where, T - 1, sentence.query);
    }
    if (sentence.antecedent < -1 || sentence.antecedent >= T) {
      fail("{}: antecedent must be one of its tokens 0 to {}, or -1, got {}", where, T - 1, sentence.antecedent);
    }
    if (!(sentence.probability >= 0 && sentence.probability <= 1.001)) {
      fail("{}: probability must lie in [0, 1], got {}", where, sentence.probability);
    }
    for (const Span& span : sentence.candidates) {
      if (span.begin >= 0 && span.begin < span.end && span.end <= T) continue;
      fail("{}: a candidate must be a span of its {} tokens, got [{}, {})", where, T, span.begin, span.end);
    }
    if (sentence.layers.empty()) fail("{}: expected at least one layer", where);
    if (sentence.layers.size() != dump.sentences[0].layers.size()) {
      fail("{}: has {}, but sentence 0 has {}", where, counted(std::ssize(sentence.layers), "layer"),
           dump.sentences[0].layers.size());
    }
    for (std::size_t l = 0; l < sentence.layers.size(); ++l) {
      check_weights(sentence.layers[l], T, fmt::format("{}: {}", file, tensor_name(i, l)));
    }
  }
}

int read_index(const Json& value, const char* what) {
  if (!value.is_number_integer() || value < -1 || value > std::numeric_limits<int>::max()) {
    fail("'{}' must be an index, got {}", what, excerpt(format_json(value)));
  }
  return value.get<int>();
}

std::string file_of_step(std::int64_t step) { return fmt::format("step-{:06}.safetensors", step); }

std::vector<std::int64_t> steps_in(const std::filesystem::path& directory) {
  std::vector<std::int64_t> steps;
  for (const std::filesystem::path& path : entries_of(directory)) {
    const std::string stem = path.stem().string();
    const std::int64_t step = stem.starts_with("step-") ? whole_number(std::string_view(stem).substr(5)) : -1;
    if (step >= 0 && path.filename() == file_of_step(step)) steps.push_back(step);
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

const std::string& metadata(const SafeTensors& content, const std::string& name, const std::string& file) {
  const auto found = content.metadata.find(name);
  if (found != content.metadata.end()) return found->second;
  if (content.metadata.contains("heed.model")) {
    fail(
        "{}: is a model, without sentences whose attention was kept: ask it with --sentence TEXT, or see inspect "
        "weights",
        file);
  }
  fail("{}: is not a snapshot of attention: the metadata entry '{}' is missing", file, name);
}

}  // namespace

std::filesystem::path model_path(const std::filesystem::path& run) {
  const std::filesystem::path pretrained = pretrained_path(run);
  return pretrained.empty() ? run / "model.safetensors" : pretrained;
}
std::filesystem::path best_model_path(const std::filesystem::path& run) { return run / "best.safetensors"; }
std::filesystem::path held_out_path(const std::filesystem::path& run) { return run / "held_out.jsonl"; }
std::filesystem::path metrics_path(const std::filesystem::path& run) { return run / "metrics.jsonl"; }

std::filesystem::path dump_path(const std::filesystem::path& run, std::int64_t step) {
  return run / "attention" / file_of_step(step);
}

std::filesystem::path dumped_model_path(const std::filesystem::path& run, std::int64_t step) {
  return run / "models" / file_of_step(step);
}

void write_dump(const std::filesystem::path& run, const Dump& dump) {
  const std::filesystem::path path = dump_path(run, dump.step);
  check(dump, path.string());
  SafeTensors content;
  Json sentences = Json::array();
  for (std::size_t i = 0; i < dump.sentences.size(); ++i) {
    const SentenceAttention& sentence = dump.sentences[i];
    sentences.push_back({{"tokens", sentence.tokens},
                         {"query", sentence.query},
                         {"antecedent", sentence.antecedent},
                         {"predicted", sentence.predicted},
                         {"probability", sentence.probability}});
    for (const Span& span : sentence.candidates) sentences.back()["candidates"].push_back({span.begin, span.end});
    for (std::size_t l = 0; l < sentence.layers.size(); ++l) {
      content.tensors.emplace_back(tensor_name(i, l), contiguous(sentence.layers[l]));
    }
  }
  content.metadata = {{"sentences", format_json(sentences)}, {"step", std::to_string(dump.step)}};
  make_directory(path.parent_path());  // the run itself is there: one that was removed is not made anew
  write_safetensors(path, content);
}

Dump read_dump(const std::filesystem::path& path) {
  const std::string file = path.string();
  const SafeTensors content = read_safetensors(path);
  Dump dump;
  dump.step = whole_number(metadata(content, "step", file));
  if (dump.step < 0) {
    fail("{}: metadata 'step' must be a whole number, got '{}'", file, metadata(content, "step", file));
  }
  const std::string text = metadata(content, "sentences", file);
  try {
    const Json sentences = parse_json(text);
    if (!sentences.is_array()) fail("expected an array");
    for (const Json& sentence : sentences) {
      dump.sentences.push_back({.tokens = sentence.at("tokens").get<std::vector<std::string>>(),
                                .query = read_index(sentence.at("query"), "query"),
                                .antecedent = read_index(sentence.at("antecedent"), "antecedent"),
                                .predicted = sentence.at("predicted").get<std::string>(),
                                .probability = sentence.at("probability").get<double>(),
                                .layers = {}});
      if (!sentence.contains("candidates")) continue;
      for (const Json& span : sentence["candidates"]) {
        dump.sentences.back().candidates.push_back(
            {read_index(span.at(0), "candidates"), read_index(span.at(1), "candidates")});
      }
    }
  } catch (const std::exception& error) {
    fail("{}: metadata 'sentences' is damaged: {}", file, message_of(error));
  }
  const std::size_t count = dump.sentences.size();
  if (count == 0 ? !content.tensors.empty() : content.tensors.size() % count != 0) {
    fail("{}: expected one tensor per sentence ({}) and layer, got {}", file, count, content.tensors.size());
  }
  const std::map<std::string, Tensor> tensors(content.tensors.begin(), content.tensors.end());
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t l = 0; l < tensors.size() / count; ++l) {
      const std::string name = tensor_name(i, l);
      const auto found = tensors.find(name);
      if (found == tensors.end()) fail("{}: the tensor '{}' is missing", file, name);
      dump.sentences[i].layers.push_back(found->second);
    }
  }
  check(dump, file);
  return dump;
}

std::vector<std::int64_t> dump_steps(const std::filesystem::path& run) { return steps_in(run / "attention"); }
std::vector<std::int64_t> dumped_model_steps(const std::filesystem::path& run) { return steps_in(run / "models"); }

Dump last_dump(const std::filesystem::path& run) {
  const std::vector<std::int64_t> steps = dump_steps(run);
  if (steps.empty()) fail("{}: has no snapshots of attention", run.string());
  return read_dump(dump_path(run, steps.back()));
}

void check_same_model(const Dump& dump, const Model& model, const std::string& file) {
  const int layers = model.layers(), heads = model.heads();
  for (const SentenceAttention& sentence : dump.sentences) {
    for (const Tensor& weights : sentence.layers) {
      if (std::ssize(sentence.layers) == layers && weights.size(0) == heads) continue;
      fail("{}: comes from a model of {} with {}, but the run's model has {} with {}: they belong to different runs",
           file, counted(std::ssize(sentence.layers), "layer"), counted(weights.size(0), "head"),
           counted(layers, "layer"), counted(heads, "head"));
    }
    for (const std::string& token : sentence.tokens) {
      if (model.vocabulary.contains(token) || model.vocabulary.unknown() || reads_pieces(model)) continue;
      fail("{}: the run's model does not know the word '{}': they belong to different runs", file, token);
    }
  }
}

}  // namespace heed

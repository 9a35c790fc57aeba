#include "bindings/config.h"
#include "inspect/commands/shared.h"
#include "inspect/serve/served_model.h"
#include "views/answer_lens_view.h"
#include "views/written_tokens.h"

#include <heed/explain/score_parts.h>
#include <heed/explain/studies/sentence_causes.h>
#include <heed/explain/trace.h>
#include <heed/files/utf8.h>
#include <heed/formats/hugging_face.h>
#include <heed/formats/safetensors.h>
#include <heed/formats/saved_model.h>
#include <heed/models/generate.h>
#include <heed/models/reading.h>

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/variant.h>

namespace heed::python {
namespace {

// Calls f with a path, without Python's lock.
auto with_path(const PathName& path, auto f) {
  const std::filesystem::path place =
      nb::cast<std::string>(nb::module_::import_("heedml.paths").attr("text_of")(path.given));
  const nb::gil_scoped_release release;
  return f(place);
}

Split split_named(const std::string& name) {
  if (const auto split = value_named<Split>(name); split && split != Split::subwords) return *split;
  fail("split: expected 'words', 'characters' or 'bytes', got '{}'", name);
}

Model made_model(nb::handle config, const std::vector<std::string>& words, std::uint64_t seed,
                 const std::string& split_name) {
  Model model(model_config(json_of(config), static_cast<int>(words.size())), seed);
  model.vocabulary = Vocabulary(words);
  const Split split = split_named(split_name);
  model.tokenizer = model.head().has_token_logits() ? Tokenizer::of_text(split) : Tokenizer(split);
  return model;
}

// Returns a model with copies of the parameters. Frozen ones stay frozen.
Model copied(const Model& model) {
  Model copy = model;
  copy.parameters = {};
  const auto clone = [&](const std::string& name, const Shape&) {
    const Tensor x = model.parameters[name].detach();
    return is_in_blocks(x.dtype()) ? x : x.clone();  // nothing writes to blocks
  };
  const bool is_double = std::ranges::all_of(
      model.parameters, [](const auto& parameter) { return parameter.second.dtype() == DType::float64; });
  copy.build(Scope(copy.parameters, is_double ? DType::float64 : DType::float32, clone), model.config());
  for (const auto& [name, value] : model.parameters) {
    value.is_frozen() ? copy.parameters.freeze(name) : copy.parameters.unfreeze(name);
  }
  return copy;
}

using ClassName = std::variant<std::int32_t, std::string>;

// Returns the numbers of the classes of B texts.
Ids numbers_of(const Model& model, const std::vector<ClassName>& given, std::int64_t B) {
  const std::vector<std::string>& classes = model.config().classes;
  if (!model.head().classifies())
    fail("batch: classes are for a model that tells the class of a text, see with_classes()");
  if (std::ssize(given) != B) fail("batch: expected the classes of {} texts, got {}", B, given.size());
  std::vector<std::int32_t> numbers;
  for (const ClassName& one : given) {
    const auto* const name = std::get_if<std::string>(&one);
    numbers.push_back(name ? index_of(*name, classes) : std::get<std::int32_t>(one));
    if (numbers.back() >= 0 && numbers.back() < std::ssize(classes)) continue;
    fail("batch: expected one of the classes {}, or a number from 0 to {}, got {}", listed(classes), classes.size() - 1,
         name ? "'" + excerpt(*name) + "'" : std::to_string(numbers.back()));
  }
  return Ids({B}, std::move(numbers));
}

// A text, or the ids of its tokens.
using TextOrIds = std::variant<std::string, std::vector<std::int32_t>>;

Example question_of(const Model& model, const TextOrIds& text, const std::string& query) {
  return std::visit([&](const auto& read) { return question(model, read, query); }, text);
}

// Returns what inspect prints about the attention to the tokens of a text, as JSON.
std::string attention_json(const Model& model, const TextOrIds& text, const std::string& query) {
  Dump dump = dump_of(model, question_of(model, text, query));
  write_out_candidates(dump, model.tokenizer);
  return json_view(dump);
}

std::string why_json(const Model& model, const TextOrIds& text, const std::string& query) {
  const Dump dump = dump_of(model, question_of(model, text, query), Tokens::pieces);
  Json all = Json::array();
  for (const ScoreParts& parts : why_attends(model, dump, dump.sentences, {})) all.push_back(score_parts_json(parts));
  return json_line(all);
}

std::string why_answer_json(const Model& model, const TextOrIds& text, const std::string& query) {
  return json_line(utf8_json(Json::array({answer_lens_json(answer_lens(model, question_of(model, text, query)))})));
}

std::string text_causes_json(const Model& model, const TextOrIds& text, const std::optional<TextOrIds>& pair,
                             const std::string& query) {
  std::optional<Example> counterpart;
  if (pair) counterpart = question_of(model, *pair, query);
  return json_line(
      utf8_json(sentence_causes_json(sentence_causes(model, question_of(model, text, query), counterpart))));
}

nb::bytes bytes_of(std::string_view text) { return nb::bytes(text.data(), text.size()); }

JsonDict traced(const Model& model, const TextOrIds& text, const std::string& query) {
  const Example example = question_of(model, text, query);
  const Trace seen = [&] {
    const nb::gil_scoped_release release;
    return trace(model, batch_of(model, example));
  }();
  nb::dict all;
  const auto add = [&](const std::string& name, const Tensor& x) {
    if (x.defined() && x.numel() > 0) all[nb::str(name.c_str())] = numpy_of(x);
  };
  add("embedded", seen.embedded);
  using L = LayerTrace;
  constexpr std::pair<const char*, Tensor L::*> fields[] = {{"residual_in", &L::residual_in},
                                                            {"attention_input", &L::attention_input},
                                                            {"q", &L::q},
                                                            {"k", &L::k},
                                                            {"v", &L::v},
                                                            {"scores", &L::scores},
                                                            {"weights", &L::weights},
                                                            {"head_output", &L::head_output},
                                                            {"attention_output", &L::attention_output},
                                                            {"attended", &L::attended},
                                                            {"mlp_hidden", &L::mlp_hidden},
                                                            {"mlp_output", &L::mlp_output},
                                                            {"residual_out", &L::residual_out}};
  for (std::size_t l = 0; l < seen.layers.size(); ++l) {
    for (const auto& [name, field] : fields) add(fmt::format("layers.{}.{}", l, name), seen.layers[l].*field);
  }
  add("state", seen.state), add("logits", seen.logits);
  nb::dict result;
  result["tokens"] = nb::cast(example.tokens), result["query"] = nb::cast(example.query), result["arrays"] = all;
  return {result};
}

// Returns for each prompt its text, what follows, the tokens, why it ended and how many were forgotten. The seed increases by 1 from text
// to text.
nb::list generated(const Model& model, const std::vector<TextOrIds>& prompts, Generation wanted,
                   const nb::object& on_text) {
  std::vector<Generation> all;
  for (const TextOrIds& prompt : prompts) {
    if (const auto* const ids = std::get_if<std::vector<std::int32_t>>(&prompt)) {
      wanted.prompt = model.tokenizer.join(tokens_of(model, *ids)), wanted.prompt_ids = *ids;
    } else {
      wanted.prompt = std::get<std::string>(prompt), wanted.prompt_ids.clear();
    }
    all.push_back(wanted);
    ++wanted.seed;
  }
  std::vector<std::string> texts(all.size());
  const std::vector<Generated> results = [&] {
    const nb::gil_scoped_release release;
    return generate(model, all, [&](std::size_t i, std::string_view piece) {
      texts[i] += piece;
      const nb::gil_scoped_acquire lock;
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      return !on_text(bytes_of(piece)).equal(nb::bool_(false));
    });
  }();
  nb::list found;
  for (std::size_t i = 0; i < results.size(); ++i) {
    nb::list tokens;
    for (const std::string& token : results[i].tokens) tokens.append(bytes_of(token));
    const std::size_t begin = std::min(all[i].prompt.size(), texts[i].size());
    found.append(nb::make_tuple(bytes_of(all[i].prompt), bytes_of(std::string_view(texts[i]).substr(begin)), tokens,
                                name_of(results[i].ended_by), results[i].forgotten));
  }
  return found;
}

}  // namespace

void bind_models(nb::module_& m) {
  nb::class_<Model>(m, "_Model", nb::dynamic_attr())
      .def("__init__",
           [](Model* self, const JsonDict& config, const std::vector<std::string>& words, std::uint64_t seed,
              const std::string& split) { new (self) Model(made_model(config, words, seed, split)); })
      .def(nb::init<const Model&>(), "model"_a)
      .def("_copied", &copied)
      .def(
          "__init__",
          [](Model* self, const std::string& path, bool mapped) {
            make_unlocked(self, [&] {
              return load_model(path, {.mapped = mapped, .progress = [](double) { check_signals(); }});
            });
          },
          "path"_a, "mapped"_a = false)
      .def_prop_ro(
          "config", [](const Model& model) { return JsonDict{python_of(format_json(to_json(model.config())))}; },
          "What the model computes: its head, its transformer, its logits. A copy.")
      .def_prop_ro(
          "parameters", [](const Model& model) { return model.parameters; }, "The parameters by name.")
      .def_prop_rw(
          "vocabulary", [](const Model& model) { return model.vocabulary.words(); },
          [](Model& model, const std::vector<std::string>& words) { model.vocabulary = Vocabulary(words); },
          "The tokens by number: a copy. Assign a list to change them.")
      .def_rw("queries", &Model::queries, "Words that training asked about: a copy. Assign a list to change them.")
      .def_rw("step", &Model::step, "The training step.")
      .def_prop_ro("layers", &Model::layers, "The number of layers.")
      .def_prop_ro("heads", &Model::heads, "The number of heads per layer.")
      .def(
          "logits",
          [](const Model& model, const Batch& batch, double dropout, Random* random, double embedding_dropout,
             double attention_dropout) {
            return with_dropout({dropout, nullptr, embedding_dropout, attention_dropout}, random,
                                [&](const Dropout& drop) { return model.logits(batch, drop); });
          },
          "batch"_a, nb::kw_only(), "dropout"_a = 0.0, "random"_a = nb::none(), "embedding_dropout"_a = 0.0,
          "attention_dropout"_a = 0.0,
          "Returns logits: (B, answers) of questions, else (B, T, vocabulary). Dropout is that of loss().")
      .def(
          "loss",
          [](const Model& model, const Batch& batch, double dropout, std::optional<std::uint64_t> seed, Random* random,
             double embedding_dropout, double attention_dropout) {
            if (seed && random) fail("Model.loss: expected a seed or random, got both");
            std::optional<Random> own;
            if (seed) random = &own.emplace(*seed);
            return with_dropout({dropout, nullptr, embedding_dropout, attention_dropout}, random,
                                [&](const Dropout& drop) { return model.loss(batch, drop); });
          },
          "batch"_a, "dropout"_a = 0.0, "seed"_a = nb::none(), nb::kw_only(), "random"_a = nb::none(),
          "embedding_dropout"_a = 0.0, "attention_dropout"_a = 0.0,
          "Returns the mean cross-entropy of the labels: (). `dropout` is the share of the outputs of each attention "
          "and MLP that is dropped. Dropout needs a `random` that goes on, or another `seed` for each step.")
      .def(
          "append",
          [](const Model& model, const IntegerArray& tokens, HeldCache& cache) {
            const Ids ids = ids_of("append: tokens", tokens);
            return cache.append([&](Cache& layers) { return model.append(ids, layers); });
          },
          "tokens"_a, "cache"_a,
          "Appends tokens (B, T) to those of `cache`, and returns the logits of the token after the last: (B, "
          "vocabulary). Not recorded.")
      .def(
          "states", [](const Model& model, const Batch& batch) { return model.transformer()(batch).output; }, "batch"_a,
          Unlocked(), "Returns the hidden states after the last layer: (B, T, d_model).")
      .def(
          "batch",
          [](const Model& model, const std::vector<std::string>& texts, std::int64_t max_length,
             const std::optional<std::vector<ClassName>>& classes) {
            Batch batch = encode(model, texts, max_length);
            if (classes) batch.answer = numbers_of(model, *classes, batch.size());
            return batch;
          },
          "texts"_a, "max_length"_a = 0, nb::kw_only(), "classes"_a = nb::none(), Unlocked(),
          "Returns texts as a Batch, with the tokens that the model's template adds. Longer texts than `max_length` "
          "tokens are cut, if it "
          "is above 0. `classes` are those of the texts for a model that tells them, by name or number.")
      .def(
          "tokens", [](const Model& model, const std::string& text) { return model.tokenizer(text); }, "text"_a,
          "Returns the tokens of a text.")
      .def(
          "ids",
          [](const Model& model, const std::string& text, bool with_template) {
            return token_ids(model, text, with_template);
          },
          "text"_a, nb::kw_only(), "template"_a = true,
          "Returns the ids of a text's tokens, with those that the model's template adds, such as [CLS], unless "
          "`template` is False.")
      .def(
          "_text",
          [](const Model& model, const std::vector<std::int32_t>& ids) {
            return bytes_of(model.tokenizer.join(tokens_of(model, ids)));
          },
          "ids"_a)
      .def(
          "save",
          [](const Model& model, const PathName& path) {
            with_path(path, [&](const auto& place) { save_model(place, model); });
          },
          "path"_a, "Writes the model to a safetensors file, which load() and inspect open.")
      .def(
          "export_hugging_face",
          [](const Model& model, const PathName& path) {
            return with_path(path, [&](const auto& place) { return export_hugging_face(model, place); });
          },
          "directory"_a, "Writes a directory that `transformers` loads. Returns the names of its files.")
      .def(
          "_adapt",
          [](Model& model, const std::vector<std::string>& layers, int rank, double alpha, std::uint64_t seed,
             const std::string& base) { adapt(model, layers, {.rank = rank, .alpha = alpha}, seed, base); },
          "layers"_a, "rank"_a, "alpha"_a, "seed"_a, "base"_a)
      .def("_with_classes", &with_classes, "classes"_a, "seed"_a, Unlocked())
      .def("merge", nb::overload_cast<Model&>(&merge),
           "Adds the adapters to the matrices and removes them. Frozen parameters stay frozen, such as the matrices: "
           "parameters.unfreeze() trains on all.")
      .def(
          "load_adapter",
          [](Model& model, const PathName& path) {
            with_path(path, [&](const auto& place) { load_adapter(model, place); });
          },
          "directory"_a, "Adds the adapters of a directory that PEFT wrote for this model.")
      .def(
          "export_adapter",
          [](const Model& model, const PathName& path) {
            return with_path(path, [&](const auto& place) { return export_adapter(model, place); });
          },
          "directory"_a, "Writes the adapters as PEFT has them. Returns the names of the files.")
      .def(
          "_answer",
          [](const Model& model, const std::string& what, const std::string& request) {
            const ServedModel served(model);
            return format_json(what == "description" ? served.description() : served.answer(what, parse_json(request)));
          },
          Unlocked())
      .def("_trace", &traced, "text"_a, "query"_a)
      .def("_attention", &attention_json, "text"_a, "query"_a, Unlocked())
      .def("_why", &why_json, "text"_a, "query"_a, Unlocked())
      .def("_why_answer", &why_answer_json, "text"_a, "query"_a, Unlocked())
      .def("_causes", &text_causes_json, "text"_a, "pair"_a.none(), "query"_a, Unlocked())
      .def(
          "_generate",
          [](const Model& model, const std::vector<TextOrIds>& prompts, int tokens, double temperature, int top_k,
             double top_p, std::uint64_t seed, const std::string& stop, bool speculate, const nb::object& on_text) {
            const Generation wanted{.prompt = "",
                                    .tokens = tokens,
                                    .sampling = {temperature, top_k, top_p},
                                    .seed = seed,
                                    .stop = stop,
                                    .speculate = speculate};
            return generated(model, prompts, wanted, on_text);
          },
          nb::sig("def _generate(self, *arguments: typing.Any) -> list[tuple[bytes, bytes, list[bytes], str, int]]"))
      .def("__repr__", [](const Model& model) {
        return fmt::format("heedml.Model(kind='{}', layers={}, heads={}, d_model={}, vocabulary={}, numbers={})",
                           name_of(model.config().head), model.layers(), model.heads(),
                           model.transformer().config.d_model(), model.transformer().config.vocabulary,
                           model.parameters.numel());
      });
  m.def("_preset", [](const std::string& name, const std::vector<int>& n) {
    const TransformerConfig config = name == "gpt2"   ? gpt2(n.at(0), n.at(1), n.at(2))
                                     : name == "bert" ? bert(n.at(0), n.at(1), n.at(2))
                                                      : llama(n.at(0), n.at(1), n.at(2), n.at(3), n.at(4));
    return JsonDict{python_of(format_json(to_json(bare_transformer(config))["transformer"]))};
  });
  m.def("_save", [](const std::string& path, const JsonDict& tensors) {
    write_safetensors(path, SafeTensors{named_tensors("save", tensors), {}});
  });
  m.def("_load", [](const std::string& path) { return dict_of(read_safetensors(path).tensors); });
}

}  // namespace heed::python

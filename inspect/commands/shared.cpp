#include "inspect/commands/shared.h"

#include "run/internal/program.h"
#include "run/internal/run_directory.h"

#include <heed/files/file.h>
#include <heed/formats/hugging_face.h>
#include <heed/models/reading.h>

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace heed {

namespace fs = std::filesystem;

void add_shared(cxxopts::OptionAdder& options, std::string_view names) {
  const std::string list = fmt::format(" {} ", names);
  const auto add = [&](const char* name, const char* help, const auto&... value) {
    if (list.find(fmt::format(" {} ", name)) != std::string::npos) options(name, help, value...);
  };
  add("sentence", "Read this sentence with the saved model", cxxopts::value<std::string>(), "TEXT");
  add("query",
      "The token to ask about; of several, the last (default: [MASK], a token that training asked about, or the last)",
      cxxopts::value<std::string>(), "WORD");
  add("words", "Join the tokens of each word: weights on them are added, and the last one asks");
  add("probe", "Show only this watched sentence, counted from 1", cxxopts::value<int>(), "N");
  add("limit", "How many held-out sentences to ask, evenly from first to last (default: as many as a minute allows)",
      cxxopts::value<int>(), "N");
  add("layer", "Show only this layer, counted from 1", cxxopts::value<int>(), "L");
  add("head", "Show only this head, counted from 1", cxxopts::value<int>(), "H");
  add("step", "The training step (default: the last; earlier models need dump.weights)", cxxopts::value<std::int64_t>(),
      "N");
  add("json", "Print JSON; layers, heads and tokens count from 0");
  add("precision",
      "Numbers that products multiply: float32 (default), to which weights are widened exactly; bfloat16, rounded, "
      "faster with AMX or AVX512_BF16; int8, quantized weights (GGUF) as stored by states rounded to 8 bits",
      cxxopts::value<std::string>(), "NAME");
  add("force", "Replace a file of another kind");
  add("language", "The language of the page, en or zh (default: auto, that of the browser)",
      cxxopts::value<std::string>(), "NAME");
}

std::string last_part(const fs::path& path) {
  return (fs::absolute(path) / "").lexically_normal().parent_path().filename().string();
}

std::string no_such_run(std::string_view name, std::string_view kinds) {
  return fmt::format(
      "{}: there is no such {}; {} --config FILE makes a run, and hf download OWNER/NAME --local-dir DIR fetches a "
      "model of "
      "Hugging Face",
      name, kinds, command_of("train"));
}

void check_run(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error)) {
    if (error) fail("{}: cannot be read: {}", path.string(), error.message());
    fail("{}", no_such_run(path.string()));
  }
  if (path.extension() == ".yaml" || path.extension() == ".yml") {
    fail("{0}: is a configuration, not a run; {1} --config {0} trains it and makes a run", path.string(),
         command_of("train"));
  }
  if (path.extension() == ".jsonl" || path.extension() == ".txt") {
    fail("{}: is data, not a run; name it as data.train in a configuration, and train that: {} --config FILE",
         path.string(), command_of("train"));
  }
  if (!fs::is_directory(path) && !fs::is_regular_file(path)) {
    fail("{}: is a device or FIFO; expected the directory of a run or model, or a file", path.string());
  }
  const auto has = [&](const char* name) { return fs::exists(path / name, error); };
  if (!fs::is_directory(path) || has("config.yaml")) return;
  std::vector<std::string> runs;
  for (const fs::path& run : runs_in(path)) runs.push_back(run.string());
  constexpr std::size_t most = 5;
  const std::size_t more = runs.size() > most ? runs.size() - most : 0;
  runs.resize(runs.size() - more);
  if (!runs.empty()) {
    fail("{}: is not a run, but a directory of runs; inspect one of them: {}{}", path.string(), fmt::join(runs, ", "),
         more > 0 ? fmt::format(" and {} more", more) : "");
  }
  if (std::ranges::any_of(
          std::array{"config.json", "model.safetensors", "metrics.jsonl", "attention", "adapter_config.json"}, has))
    return;
  const std::vector<std::string> models = models_in(path);
  fail("{}: is not a run or a model: expected the config.yaml of a run or the config.json of a model{}", path.string(),
       models.empty() ? "" : fmt::format("; inspect one of its models: {}", listed(models, ", ", most)));
}

void check_different(const std::vector<fs::path>& runs) {
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      std::error_code missing;
      if (!fs::is_directory(runs[i], missing) || !fs::equivalent(runs[i], runs[j], missing)) continue;
      fail("{}: this run is given twice; expected different runs", runs[i].string());
    }
  }
}

void check_json_of_all_heads(const Request& request) {
  if (request.has("json") && (request.has("layer") || request.has("head")))
    misused("--json prints every layer and head");
}

int limit_of(const Request& request) {
  const int limit = request.given<int>("limit").value_or(0);
  if (request.has("limit") && limit < 1) misused("--limit must be at least 1");
  return limit;
}

std::string language_of(const Request& request) {
  const std::string name = request.given<std::string>("language").value_or("auto");
  if (name != "en" && name != "zh" && name != "auto") misused("--language must be en, zh or auto, got '{}'", name);
  return name == "auto" ? "" : name;
}

bool has_numbers_alone(const fs::path& run) {
  return fs::is_directory(run) && fs::exists(metrics_path(run)) && !is_of_train(run) && !fs::exists(model_path(run)) &&
         dump_steps(run).empty();
}

std::optional<std::int64_t> step_of(const Request& request) {
  if (request.arguments.count("step") > 1) {
    misused("expected one --step; inspect compare RUN --step N --step N compares two");
  }
  return request.given<std::int64_t>("step");
}

Model model_of(const fs::path& run, const std::optional<std::int64_t>& step, const OnProgress& progress, bool merged) {
  const auto load = [&](const fs::path& path) {
    const auto opening = [&](double share) {
      if (progress) progress(fmt::format("opening {}", run.string()), share, 0);
    };
    return load_model(path, {.mapped = true, .merged = merged, .progress = opening});
  };
  if (fs::is_regular_file(run)) {
    Model model = load(run);
    if (step && *step != model.step) fail("{}: is the model of step {}, not {}", run.string(), model.step, *step);
    return model;
  }
  if (step && fs::exists(dumped_model_path(run, *step))) return load(dumped_model_path(run, *step));
  if (has_numbers_alone(run)) {
    fail("{}: has the numbers of a Log and no model; inspect curves and inspect page draw them", run.string());
  }
  if (!fs::exists(model_path(run))) fail("{}: is missing; has the run been saved?", model_path(run).string());
  Model model = load(model_path(run));
  if (!step || *step == model.step) return model;
  if (const std::vector<std::int64_t> kept = dumped_model_steps(run); !kept.empty()) {
    fail("{}: has no model of step {}; it has models of steps {}, and of the last, {}", run.string(), *step,
         listed(kept), model.step);
  }
  fail(
      "{}: keeps only the model of step {}, not that of step {}. With dump.weights: true, train keeps the model of "
      "each snapshot",
      run.string(), model.step, *step);
}

Dump dump_of(const fs::path& run, const std::optional<std::int64_t>& step) {
  if (is_pretrained(run)) {
    fail("{}: a pretrained model has no watched sentences; read one with --sentence", run.string());
  }
  if (fs::is_regular_file(run)) {
    const Dump dump = read_dump(run);
    if (step && *step != dump.step) fail("{}: is the snapshot of step {}, not {}", run.string(), dump.step, *step);
    return dump;
  }
  if (!step) return last_dump(run);
  const std::vector<std::int64_t> steps = dump_steps(run);
  if (std::find(steps.begin(), steps.end(), *step) == steps.end()) {
    const std::string others = steps.empty() ? "it keeps none" : fmt::format("there are {}", listed(steps));
    fail("{}: has no snapshot of step {}; {}", run.string(), *step, others);
  }
  return read_dump(dump_path(run, *step));
}

Precision precision_of(const Request& request, const Model& model) {
  const std::string name = request.given<std::string>("precision").value_or(name_of(Precision::float32));
  const auto precision = value_named<Precision>(name);
  if (!precision) misused("--precision must be one of {}, got '{}'", fmt::join(names_of<Precision>(), ", "), name);
  const auto is_read = [](const auto& parameter) { return is_in_blocks(parameter.second.dtype()); };
  if (*precision == Precision::int8 && std::ranges::none_of(model.parameters, is_read)) {
    misused("--precision int8 is for the quantized weights of a GGUF file, which {} does not have; leave it out",
            request.runs[0].string());
  }
  return *precision;
}

Example example_of(const Request& request, const Model& model) {
  return question(model, *request.given<std::string>("sentence"), request.given<std::string>("query").value_or(""));
}

SentenceAttention attention_of(const Model& model, const Example& example, Tokens tokens) {
  const SentenceAttention read = attend(model, example);
  return tokens == Tokens::words && reads_pieces(model) ? of_whole_words(read) : read;
}

Dump dump_of(const Model& model, const Example& example, Tokens tokens) {
  const bool is_merged = tokens == Tokens::words && reads_pieces(model);
  return {model.step, {attention_of(model, example, tokens)}, holds_spaces(model) && !is_merged};
}

namespace {

// Returns the model of a snapshot, or else the last model; nothing if it is damaged or missing.
std::optional<Model> model_beside(const fs::path& run, std::int64_t step) {
  if (fs::is_regular_file(run)) return std::nullopt;
  fs::path file = dumped_model_path(run, step);
  if (!fs::exists(file)) file = model_path(run);
  if (!fs::exists(file)) return std::nullopt;
  try {
    return load_model(file, {.mapped = true, .merged = true, .progress = {}});
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

Reading reading_of(const fs::path& run, const std::optional<std::int64_t>& step) {
  Reading read{.dump = dump_of(run, step), .model = std::nullopt};
  read.model = model_beside(run, read.dump.step);
  read.dump.is_text = read.model && holds_spaces(*read.model) && !reads_pieces(*read.model);
  return read;
}

Reading reading_of(const Request& request, Tokens tokens) {
  if (request.has("query") && !request.has("sentence")) misused("--query needs --sentence");
  if (request.has("probe") && request.has("sentence"))
    misused("--probe chooses a watched sentence and cannot be used with --sentence");
  const fs::path& run = request.runs[0];
  if (!request.has("sentence") && fs::is_directory(run) && dump_steps(run).empty() && !is_pretrained(run)) {
    fail("{}: has no snapshots of attention, so nothing was watched; read a text with --sentence", run.string());
  }
  if (!request.has("sentence")) return reading_of(run, step_of(request));
  Model model = model_of(run, step_of(request), request.progress);
  Dump dump = dump_of(model, example_of(request, model), tokens);
  return {std::move(dump), std::move(model)};
}

void choose_probe(const Request& request, Dump& dump) {
  const auto probe = request.given<int>("probe");
  if (!probe) return;
  const Range chosen = chosen_range("probe", probe, static_cast<int>(dump.sentences.size()));
  dump.sentences = {dump.sentences[static_cast<std::size_t>(chosen.begin)]};
}

OnProgress of_run(const fs::path& run, const OnProgress& progress) {
  if (!progress) return {};
  return [=](const std::string& what, double share, double seconds) {
    progress(fmt::format("{} of {}", what, run.string()), share, seconds);
  };
}

StudyOptions study_of(const Request& request) {
  const OnProgress& progress = request.progress;
  return {.most = limit_of(request),
          .progress = request.runs.size() == 1 ? of_run(request.runs[0], progress) : progress,
          .processes = request.processes};
}

Json utf8_json(const Json& value) { return parse_json(value.dump(-1, ' ', false, Json::error_handler_t::replace)); }

std::string json_line(const Json& value) { return format_json(value) + "\n"; }

std::istream& operator>>(std::istream& in, Decimal& number) {
  in >> number.value;
  if (!in.eof()) in.setstate(std::ios::failbit);
  return in;
}

}  // namespace heed

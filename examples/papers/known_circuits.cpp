// Models with a known circuit (InterpBench; Gupta et al. 2024, arXiv:2407.14494): transformers are trained until they compute
// the programs of known_programs.h along given edges. In every step each edge of each text carries, at random, the output of
// this text or of another one. Where an edge of the circuit carries another text, the label is what the program gives then
// (interchange interventions; Geiger et al. 2021, arXiv:2112.00826). Where any other edge does, the label stays. So the edges
// that matter are known, and those that the methods of `inspect circuit` find can be compared with them.
//   known_circuits PROGRAM [SEED [STEPS [EXCHANGES [DIRECTORY]]]]
// EXCHANGES 0 trains on the texts alone, which leaves the circuit open. DIRECTORY gets the model, pairs of texts, and the true edges:
//   inspect circuit DIRECTORY/model.safetensors DIRECTORY/pairs.jsonl
#include "examples/papers/known_programs.h"

#include <heed/explain/circuits/edge_scores.h>
#include <heed/explain/generated_pairs.h>
#include <heed/files/file.h>
#include <heed/formats/saved_model.h>
#include <heed/models/model.h>
#include <heed/nn/head_inputs.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>

using namespace heed;
using namespace known;

constexpr int layers = 2, heads = 4, d_model = 64;

Batch batch_of(const Program& program, const std::vector<Text>& texts, const std::vector<std::int32_t>& answers) {
  std::vector<std::int32_t> ids;
  for (const Text& text : texts) ids.insert(ids.end(), text.begin(), text.end());
  const std::int64_t B = std::ssize(texts);
  return {.tokens = Ids({B, program.length}, ids), .query = full_ids({B}, program.query), .answer = Ids({B}, answers)};
}

// The outputs of all nodes, (sources, B, T, d_model), and the logits (B, words).
struct Outputs {
  Tensor nodes, logits;
};

// Runs a model. Where kept (B, edges) is 0, an edge carries the output in `others`; where it is 1, that of this run.
// EdgePatching does the same with one choice of edges for all texts, and is not recorded.
Outputs run(const Model& model, const CircuitGraph& graph, const Batch& texts, const Tensor& kept = {},
            const Tensor& others = {}) {
  const Transformer& transformer = model.transformer();
  const std::int64_t B = texts.size(), T = texts.tokens.shape()[1];
  Tensor nodes = unsqueeze(transformer.embed(texts), 0);
  const auto read = [&](int first, int count) {  // (count, B, T, d_model)
    if (!kept.defined()) return shared_input(sum(nodes, {0}), count);
    const std::int64_t n = nodes.size(0), edge = graph.inputs()[static_cast<std::size_t>(first)].first_edge;
    const Tensor other = slice(others, 0, 0, n);
    const Tensor change = reshape(permute(nodes - other, {1, 0, 2, 3}), {B, n, -1});
    const Tensor weights = reshape(slice(kept, 1, edge, edge + count * n), {B, count, n});
    return sum(other, {0}) + permute(reshape(matmul(weights, change), {B, count, T, d_model}), {1, 0, 2, 3});
  };
  for (int layer = 0; layer < layers; ++layer) {
    const TransformerBlock& block = transformer.blocks[static_cast<std::size_t>(layer)];
    const int first = graph.first_input(layer);
    const Tensor x = block.attention_norms.of_input(read(first, 3 * heads));
    const HeadInputs inputs{.queries = slice(x, 0, 0, heads),
                            .keys = slice(x, 0, heads, 2 * heads),
                            .values = slice(x, 0, 2 * heads, 3 * heads)};
    const Tensor z = weighted_values(block.attention, inputs, transformer.mask_of(texts));
    nodes = concat({nodes, head_outputs(block.attention, z)});
    const Tensor of_mlp = block.mlp_norms->of_input(read(first + 3 * heads, 1)[0]);
    nodes = concat({nodes, unsqueeze((*block.mlp)(of_mlp), 0)});
  }
  const Tensor asked = select_rows(read(graph.first_input(layers), 1)[0], texts.query);
  return {nodes, model.head().answer_logits({.output = (*transformer.final_norm)(asked), .weights = {}}, {})};
}

// The edges that carry another text: none, those outside of the circuit, or any.
enum class Exchange { nothing, outside, any };

// Texts, and the edges that carry their outputs; the others carry those of the next text.
struct Mixtures {
  Batch texts;        // with the program's answers to the mixtures
  Ids clean_answers;  // to the texts alone
  Tensor kept;        // (B, edges): 1 or 0
};

Mixtures mix(const Program& program, const std::vector<std::size_t>& circuit, std::size_t edges, int count,
             bool exchanges, Random& random) {
  std::vector<Text> texts;
  while (std::ssize(texts) < count) texts.push_back(program.write(random));
  std::vector<std::int32_t> answers, clean_answers;
  std::vector<double> kept;
  for (std::size_t b = 0; b < texts.size(); ++b) {
    const auto exchange = exchanges ? static_cast<Exchange>(random.below(3)) : Exchange::nothing;
    const double share = exchange == Exchange::nothing ? 0 : random.below(2) == 0 ? 1 : random.uniform();
    std::vector<double> flags;
    for (std::size_t edge = 0; edge < edges; ++edge) flags.push_back(random.uniform() < share ? 0 : 1);
    Mixture mixture{texts[b], texts[(b + 1) % texts.size()], std::vector<bool>(circuit.size(), true)};
    clean_answers.push_back(program.answer(mixture));
    for (std::size_t i = 0; i < circuit.size(); ++i) {
      mixture.kept[i] = exchange != Exchange::any || random.below(3) != 0;
      flags[circuit[i]] = mixture.kept[i] ? 1 : 0;
    }
    answers.push_back(program.answer(mixture));
    kept.insert(kept.end(), flags.begin(), flags.end());
  }
  return {batch_of(program, texts, answers), Ids({count}, clean_answers),
          tensor({count, static_cast<std::int64_t>(edges)}, kept)};
}

// Moves the outputs of text b + 1 to text b.
Tensor of_next_text(const Tensor& nodes) { return concat({slice(nodes, 1, 1), slice(nodes, 1, 0, 1)}, 1); }

// Pairs of texts with different answers.
struct Pairs {
  Batch clean, corrupted;
  std::string lines{};  // of a file for `inspect circuit`

  Pairs(const Program& program, int count, Random& random) {
    std::vector<Text> texts[2];
    std::vector<std::int32_t> answers[2];
    const auto written = [&](const Text& text) {
      std::string words;
      for (const std::int32_t word : text) words += (words.empty() ? "" : " ") + program.words[word];
      return words;
    };
    while (std::ssize(texts[0]) < count) {
      const Text text = program.write(random), other = program.write(random);
      const int right = program.answer_to(text), wrong = program.answer_to(other);
      if (right == wrong) continue;
      texts[0].push_back(text), texts[1].push_back(other);
      answers[0].push_back(right), answers[1].push_back(wrong);
      lines += pair_line({written(text), written(other), {program.words[right]}, {program.words[wrong]}}) + "\n";
    }
    clean = batch_of(program, texts[0], answers[0]), corrupted = batch_of(program, texts[1], answers[1]);
  }
  // Returns the logit of the answer to the clean text minus that of the answer to the corrupted one.
  Tensor measure(const Tensor& logits) const {
    const Shape column{logits.size(0), 1};
    const Tensor right = gather(logits, reshape(clean.answer, column), 1);
    return reshape(right - gather(logits, reshape(corrupted.answer, column), 1), {logits.size(0)});
  }
};

// Returns the probability that a true edge has a greater strength than another one (AUROC); equal strengths count one half.
double auroc(const std::vector<double>& strengths, const std::vector<std::size_t>& circuit) {
  double right = 0;
  for (const std::size_t i : circuit) {
    for (std::size_t j = 0; j < strengths.size(); ++j) {
      if (std::ranges::find(circuit, j) != circuit.end()) continue;
      right += strengths[i] > strengths[j] ? 1 : strengths[i] == strengths[j] ? 0.5 : 0;
    }
  }
  return right / static_cast<double>(circuit.size() * (strengths.size() - circuit.size()));
}

int main(int argc, char** argv) {
  const std::vector<Program> programs{induction(), majority(), larger(), sorting(), coreference()};
  const std::string_view name = argc > 1 ? argv[1] : "";
  const auto program = std::ranges::find(programs, name, &Program::name);
  if (program == programs.end()) {
    fmt::print(stderr, "known_circuits: expected the name of a program:\n");
    for (const Program& each : programs) fmt::print(stderr, "  {:18}{}\n", each.name, each.what);
    return 2;
  }
  const auto argument = [&](int i, double usual) { return i < argc ? std::strtod(argv[i], nullptr) : usual; };
  const auto seed = static_cast<std::uint64_t>(argument(2, 1));
  const int steps = static_cast<int>(argument(3, 2000));
  const bool exchanges = argument(4, 1) != 0;

  TransformerConfig shape{
      .vocabulary = static_cast<int>(program->words.size()), .max_length = program->length, .layers = layers};
  shape.block.attention = {.d_model = d_model, .heads = heads, .output_bias = false};
  shape.block.mlp = {.width = 2 * d_model};
  Model model(word_answerer(shape, {.tied = false}), seed);
  const CircuitGraph graph(model);
  const std::size_t edges = graph.edges().size();
  std::vector<std::size_t> circuit;
  for (const TrueEdge& edge : program->edges) {
    circuit.push_back(static_cast<std::size_t>(graph.edge(edge.from, edge.kind, edge.layer, edge.head)));
  }

  Random random(seed);
  Optimizer adam(model.parameters, {.method = OptimizerOptions::Method::adamw, .weight_decay = 0.01});
  const Schedule schedule{.kind = Schedule::Kind::cosine, .lr = 2e-3, .warmup = 50, .steps = steps};
  for (int step = 0; step < steps; ++step) {
    const Mixtures batch = mix(*program, circuit, edges, 64, exchanges, random);
    const Recording recording;
    const Outputs clean = run(model, graph, batch.texts);
    Tensor loss = cross_entropy(clean.logits, batch.clean_answers);
    if (exchanges) {
      const Outputs mixed = run(model, graph, batch.texts, batch.kept, of_next_text(clean.nodes));
      loss = loss + cross_entropy(mixed.logits, batch.texts.answer);
    }
    if (step % 200 == 0) fmt::print("step {:4}  loss {:.3f}\n", step, loss.item());
    adam.step(backward(loss), learning_rate(schedule, step));
  }

  // All figures below are measured on new texts.
  const Mixtures mixtures = mix(*program, circuit, edges, 512, true, random);
  const Outputs clean = run(model, graph, mixtures.texts);
  const Outputs mixed = run(model, graph, mixtures.texts, mixtures.kept, of_next_text(clean.nodes));
  const Pairs pairs(*program, 100, random);
  const EdgePatching patching(model, graph, pairs.clean, pairs.corrupted);
  std::vector<bool> alone(edges);
  for (const std::size_t edge : circuit) alone[edge] = true;
  fmt::print("\nedges {}, true {}\n", edges, circuit.size());
  fmt::print("accuracy {:.3f}, of mixtures {:.3f}, of the circuit alone {:.3f}\n",
             accuracy(clean.logits, mixtures.clean_answers), accuracy(mixed.logits, mixtures.texts.answer),
             accuracy(patching.logits(alone), pairs.clean.answer));
  for (const ScoreMethod method : {ScoreMethod::exact, ScoreMethod::eap, ScoreMethod::eap_ig, ScoreMethod::deeplift}) {
    const auto measure = [&](const Tensor& logits) { return pairs.measure(logits); };
    const Tensor strengths = mean(abs(edge_scores(patching, measure, method)), {0});
    fmt::print("{} {:.3f}\n", name_of(method), auroc(strengths.to_vector(), circuit));
  }
  if (argc > 5) {
    const std::filesystem::path directory = argv[5];
    std::filesystem::create_directories(directory);
    model.vocabulary = Vocabulary(program->words);
    for (const std::int32_t word : slice(pairs.clean.tokens, 1, program->query, program->query + 1)) {
      const std::string& asked = program->words[word];
      if (std::ranges::find(model.queries, asked) == model.queries.end()) model.queries.push_back(asked);
    }
    save_model(directory / "model.safetensors", model);
    write_file(directory / "pairs.jsonl", pairs.lines);
    std::vector<std::string> lines;
    for (const std::size_t index : circuit) {
      const CircuitEdge& edge = graph.edges()[index];
      lines.push_back(fmt::format(R"(  {{"from": "{}", "to": "{}"}})",
                                  graph.name(graph.nodes()[static_cast<std::size_t>(edge.from)]),
                                  graph.name(graph.inputs()[static_cast<std::size_t>(edge.to)])));
    }
    write_file(directory / "edges.json", fmt::format("[\n{}\n]\n", fmt::join(lines, ",\n")));
  }
}

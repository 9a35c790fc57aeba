#include <heed/autograd/ops.h>
#include <heed/autograd/record.h>
#include <heed/explain/circuits/pair_task.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace heed {
namespace {

constexpr double portion_bytes = 4e8;    // of outputs and gradients of a portion of pairs
constexpr double quick_products = 2e10;  // multiplications and additions that take seconds

// Returns the most tokens of a text at which EdgePatching computes outputs.
std::int64_t max_tokens(const Model& model, std::span<const TextPair> pairs) {
  const bool skips = answers_from_earlier_tokens(model);
  std::size_t result = 1;
  for (const TextPair& pair : pairs) {
    result = std::max(result, pair.clean.tokens.size() - (skips ? pair.first_difference() : 0));
  }
  return static_cast<std::int64_t>(result);
}

// Returns about how many circuits a study measures on one half of the pairs or the other.
int usual_circuits(const CircuitOptions& options) {
  constexpr int sizes_tried = 6, refined = 2 * 4;                           // on the half that chooses
  constexpr int of_curve = 11, found = 1, survives = 1;                     // on the other
  const int controls = 2 * (options.random_circuits + options.null_tasks);  // of both circuits
  return sizes_tried + refined + of_curve + found + survives + controls + options.exact_edges;
}

// Returns how many pairs a portion has: outputs of all nodes for both texts, their change and a copy. Scores need two more copies for
// each input, and eight more on the way back through norms on the stream; deeplift needs twice as many.
std::size_t portion_of(const Model& model, const CircuitGraph& graph, std::span<const TextPair> pairs,
                       std::optional<ScoreMethod> scored = {}) {
  const double numbers = static_cast<double>(max_tokens(model, pairs)) * model.transformer().config.d_model();
  const double of_gradients = has_linear_stream(model.transformer()) ? 2 : 10;
  const double of_input = !scored ? 0 : scored == ScoreMethod::deeplift ? 2 * of_gradients : of_gradients;
  const double copies = 4.0 * graph.sources() + of_input * static_cast<double>(graph.inputs().size());
  return static_cast<std::size_t>(std::clamp(portion_bytes / (numbers * copies * sizeof(float)), 1.0, 64.0));
}

}  // namespace

PairTask::PairTask(const Model& model, std::span<const TextPair> pairs, const CircuitOptions& options)
    : model_(model),
      pairs_(pairs),
      graph_(model),
      progress_(options.progress),
      circuits_("circuits", usual_circuits(options) * static_cast<double>(pairs.size()) / 2, progress_),
      task_{.graph = graph_,
            .scores = {},
            .clean = std::vector<double>(pairs.size()),
            .corrupted = std::vector<double>(pairs.size()),
            .groups = {},
            .observations = observations_of(pairs),
            .measure = [this](const auto& circuits, std::span<const std::size_t> chosen) {
              return measured(circuits, chosen);
            }} {
  if (pairs.empty()) fail("circuit: expected pairs of texts, got none");
  for (const TextPair& pair : pairs) task_.groups.push_back(pair.group);
  score(options);
}

void PairTask::score(const CircuitOptions& options) {
  using enum ScoreMethod;
  const double of_pass =
      static_cast<double>(std::ssize(pairs_) * max_tokens(model_, pairs_) * model_.parameters.numel());
  const double of_exact = static_cast<double>(graph_.edges().size()) * of_pass, of_ig = 3.0 * options.steps * of_pass;
  const double of_deeplift = 4.0 * of_pass;
  const ScoreMethod chooser = options.method.value_or(of_exact <= quick_products ? exact : deeplift);
  std::vector<ScoreMethod> methods{chooser};
  for (const auto& [method, products] :
       {std::pair(exact, of_exact), {deeplift, of_deeplift}, {eap_ig, of_ig}, {eap, 0.0}}) {
    if (method != chooser && products <= quick_products) methods.push_back(method);
  }
  const auto uses = [&](ScoreMethod method) { return std::ranges::find(methods, method) != methods.end(); };
  for (const ScoreMethod method : methods) {
    task_.scores.emplace_back(method, Tensor({std::ssize(pairs_), std::ssize(graph_.edges())}, DType::float64));
  }
  std::vector<PairBatch> batches =
      pair_batches(model_, pairs_, portion_of(model_, graph_, pairs_, uses(deeplift) ? deeplift : chooser));
  Passes passes("effects of edges", static_cast<double>(batches.size()), progress_);
  for (PairBatch& batch : batches) {
    passes.next();
    const Ids words = keep_answers(model_, batch);
    const EdgePatching patching(model_, graph_, batch.clean, batch.corrupted, words);
    const PairMeasure measure = [&](const Tensor& logits) { return log_odds(logits, batch); };
    const std::vector<double> clean = finite_log_odds(patching.clean().logits, batch, "circuit");
    const std::vector<double> corrupted = finite_log_odds(patching.corrupted().logits, batch, "circuit");
    const GradientScores gradients = gradient_scores(patching, measure, uses(eap_ig) ? options.steps : 1);
    for (auto& [method, scores] : task_.scores) {
      const Tensor found = method == exact || method == deeplift ? edge_scores(patching, measure, method)
                           : method == eap_ig                    ? gradients.eap_ig
                                                                 : gradients.eap;
      const Tensor rows = contiguous(found);
      for (std::size_t b = 0; b < batch.pairs.size(); ++b) {
        std::copy_n(rows.data<double>() + static_cast<std::int64_t>(b) * rows.size(1), rows.size(1),
                    scores.mutable_data<double>() + static_cast<std::int64_t>(batch.pairs[b]) * rows.size(1));
      }
    }
    for (std::size_t b = 0; b < batch.pairs.size(); ++b) {
      task_.clean[batch.pairs[b]] = clean[b], task_.corrupted[batch.pairs[b]] = corrupted[b];
    }
  }
}

std::vector<std::vector<double>> PairTask::measured(const std::vector<std::vector<bool>>& circuits,
                                                    std::span<const std::size_t> chosen) const {
  std::vector<TextPair> pairs;
  for (const std::size_t i : chosen) pairs.push_back(pairs_[i]);
  std::vector<std::vector<double>> result(circuits.size(), std::vector<double>(chosen.size()));
  std::vector<PairBatch> batches = pair_batches(model_, pairs, portion_of(model_, graph_, pairs));
  for (PairBatch& batch : batches) {
    const Ids words = keep_answers(model_, batch);
    const EdgePatching patching(model_, graph_, batch.clean, batch.corrupted, words);
    for (std::size_t c = 0; c < circuits.size(); ++c) {
      circuits_.next(static_cast<double>(batch.pairs.size()));
      const std::vector<double> values = finite_log_odds(patching.logits(circuits[c]), batch, "circuit");
      for (std::size_t b = 0; b < batch.pairs.size(); ++b) result[c][batch.pairs[b]] = values[b];
    }
  }
  return result;
}

CircuitStudy circuit_study(const Model& model, std::span<const TextPair> pairs, const CircuitOptions& options) {
  const PairTask task(model, pairs, options);
  return circuit_study(task.task(), options);
}

}  // namespace heed

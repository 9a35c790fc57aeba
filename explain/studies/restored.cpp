#include "explain/internal/joined_batch.h"

#include <heed/autograd/record.h>
#include <heed/explain/circuits/pair_halves.h>
#include <heed/explain/intervention.h>
#include <heed/explain/studies/restored.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <utility>

namespace heed {
namespace {

constexpr std::size_t pairs_at_once = 32, copied_tokens = 1024;

enum class Role { before, changed, behind, asked };

Role role_of(const TextPair& pair, std::size_t token) {
  if (static_cast<int>(token) == pair.clean.query) return Role::asked;
  if (pair.clean.tokens[token] != pair.corrupted.tokens[token]) return Role::changed;
  return token < pair.first_difference() ? Role::before : Role::behind;
}

class RestoredStudy {
 public:
  RestoredStudy(const Model& model, std::span<const TextPair> pairs) : model_(model), pairs_(pairs) {
    groups_ = checked_observations("causes", pairs);
    clean_.resize(pairs.size()), corrupted_.resize(pairs.size());
    name_tokens();
    result_.pairs = static_cast<int>(pairs.size());
    result_.observations = 1 + std::ranges::max(groups_);
    const bool has_mlp =
        std::ranges::any_of(model.transformer().blocks, [](const auto& block) { return block.mlp.has_value(); });
    for (const What what : {What::residual, What::attention, What::mlp, What::head}) {
      if (what == What::mlp && !has_mlp) continue;
      const std::size_t rows = what == What::head ? static_cast<std::size_t>(model.heads()) : result_.tokens.size();
      values_[what].assign(rows, std::vector(static_cast<std::size_t>(model.layers()),
                                             std::vector(pairs.size(), std::numeric_limits<double>::quiet_NaN())));
    }
  }

  void measure(const OnProgress& progress) {
    const NoRecording unrecorded;
    const std::vector<PairBatch> batches = pair_batches(model_, pairs_, pairs_at_once);
    const double layers = model_.layers();
    Passes passes("causes", static_cast<double>(batches.size()) * layers * (layers + 1) / 2, progress);
    for (const PairBatch& batch : batches) {
      const Trace clean = trace(model_, batch.clean), corrupted = trace(model_, batch.corrupted);
      keep(batch, clean.logits, clean_), keep(batch, corrupted.logits, corrupted_);
      std::vector<Tokens> rows;
      for (std::size_t row = 0; row < result_.tokens.size(); ++row) rows.push_back(tokens_of(batch, row));
      for (int layer = 0; layer < model_.layers(); ++layer) {
        measure_layer(batch, rows, clean, corrupted, layer, passes);
      }
    }
  }

  Restored result() {
    result_.clean = mean_interval(clean_, groups_), result_.corrupted = mean_interval(corrupted_, groups_);
    std::vector<double> differences;
    for (std::size_t i = 0; i < clean_.size(); ++i) differences.push_back(clean_[i] - corrupted_[i]);
    result_.behaviour = mean_interval(differences, groups_);
    for (const auto& [what, rows] : values_) {
      Restored::Table table{.what = what, .cells = {}};
      const double cells = static_cast<double>(rows.size() * static_cast<std::size_t>(model_.layers()));
      for (const auto& row : rows) {
        table.cells.emplace_back();
        for (const std::vector<double>& values : row) table.cells.back().push_back(cell_of(values, cells));
      }
      result_.tables.push_back(std::move(table));
    }
    return result_;
  }

 private:
  using What = Restored::What;
  using Tokens = std::vector<std::vector<int>>;  // of each pair of a batch

  void name_tokens() {
    const auto& first = pairs_[0].clean;
    result_.by_position = std::ranges::all_of(pairs_, [&](const TextPair& pair) {
      return pair.clean.tokens.size() == first.tokens.size() && pair.clean.query == first.query;
    });
    if (!result_.by_position) {
      result_.tokens = {"before the change", "changed tokens", "behind the change", "answering token"};
      return;
    }
    for (std::size_t t = 0; t < first.tokens.size(); ++t) {
      const bool is_same = std::ranges::all_of(pairs_, [&](const TextPair& pair) {
        return pair.clean.tokens[t] == first.tokens[t] && pair.corrupted.tokens[t] == first.tokens[t];
      });
      result_.tokens.push_back(is_same ? first.tokens[t] : "");
    }
  }

  // Returns the tokens that belong to a row.
  Tokens tokens_of(const PairBatch& batch, std::size_t row) const {
    Tokens result;
    for (const std::size_t i : batch.pairs) {
      std::vector<int>& tokens = result.emplace_back();
      for (std::size_t t = 0; t < pairs_[i].clean.tokens.size(); ++t) {
        const bool is_of_row = result_.by_position ? t == row : role_of(pairs_[i], t) == static_cast<Role>(row);
        if (is_of_row) tokens.push_back(static_cast<int>(t));
      }
    }
    return result;
  }

  void keep(const PairBatch& batch, const Tensor& logits, std::vector<double>& into) const {
    const std::vector<double> values = finite_log_odds(logits, batch, "causes");
    for (std::size_t b = 0; b < values.size(); ++b) into[batch.pairs[b]] = values[b];
  }

  // Returns whether both texts compute the same at all these tokens, so that patching them changes nothing. A causal model does
  // before the first token that differs.
  bool are_equal(const PairBatch& batch, const Tokens& tokens) const {
    const bool is_causal = model_.transformer().config.causal;
    for (std::size_t b = 0; b < tokens.size(); ++b) {
      const int first = is_causal ? static_cast<int>(pairs_[batch.pairs[b]].first_difference()) : 0;
      if (std::ranges::any_of(tokens[b], [&](int token) { return token >= first; })) return false;
    }
    return true;
  }

  // A patch of all corrupted texts of a batch, at the `tokens` of each, or at all; `into` takes the measure of each pair.
  struct Patch {
    Place place;
    Tokens tokens;
    std::vector<double>* into;
  };

  // Patches one layer of the corrupted texts, and computes the layers from it on.
  void measure_layer(const PairBatch& batch, const std::vector<Tokens>& rows, const Trace& clean,
                     const Trace& corrupted, int layer, Passes& passes) {
    const auto l = static_cast<std::size_t>(layer);
    std::vector<Patch> patches;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const Tokens& tokens = rows[row];
      const bool is_patched = !are_equal(batch, tokens);
      for (const What what : {What::residual, What::attention, What::mlp}) {
        if (what == What::mlp && !model_.transformer().blocks[l].mlp) continue;
        std::vector<double>& into = values_[what][row][l];
        for (std::size_t b = 0; b < tokens.size(); ++b) {
          if (!tokens[b].empty()) into[batch.pairs[b]] = corrupted_[batch.pairs[b]];
        }
        const Place place = what == What::residual    ? Place::residual(layer)
                            : what == What::attention ? Place::attention_output(layer)
                                                      : Place::mlp_output(layer);
        if (is_patched) patches.push_back({place, tokens, &into});
      }
    }
    for (int head = 0; head < model_.heads(); ++head) {
      std::vector<double>& into = values_[What::head][static_cast<std::size_t>(head)][l];
      patches.push_back({Place::head_output(layer, head), {}, &into});
    }
    const Tensor& residual = corrupted.layers[l].residual_in;
    const auto tokens = static_cast<std::size_t>(residual.size(0) * residual.size(1));
    const std::size_t at_once = std::max<std::size_t>(1, copied_tokens / tokens);
    for (std::size_t first = 0; first < patches.size(); first += at_once) {
      const std::size_t count = std::min(at_once, patches.size() - first);
      passes.next((model_.layers() - layer) * static_cast<double>(count) / static_cast<double>(patches.size()));
      measure_patches(batch, clean, {layer, residual}, std::span(patches).subspan(first, count));
    }
  }

  // Measures some patches of one layer, each in copies of the texts, so that the parameters are read once for all.
  void measure_patches(const PairBatch& batch, const Trace& clean, const LayerInput& input,
                       std::span<const Patch> patches) {
    const std::size_t B = batch.pairs.size(), copies = patches.size();
    std::vector<Intervention> interventions;
    for (std::size_t i = 0; i < copies; ++i) {
      std::vector<int> from(copies * B, -1);  // the text whose clean values a copy takes
      std::iota(from.begin() + static_cast<std::ptrdiff_t>(i * B),
                from.begin() + static_cast<std::ptrdiff_t>((i + 1) * B), 0);
      Place place = patches[i].place;
      if (!patches[i].tokens.empty()) {
        Tokens of_copies(copies * B);
        std::ranges::copy(patches[i].tokens, of_copies.begin() + static_cast<std::ptrdiff_t>(i * B));
        place = place.at_each(of_copies);
      }
      interventions.push_back(patch(place, clean, from));
    }
    const Batch texts = joined(std::vector(copies, batch.corrupted));
    const LayerInput all{input.layer, concat(std::vector(copies, input.residual), 0)};
    const Tensor logits = logits_under(interventions, model_, texts, all);
    for (std::size_t i = 0; i < copies; ++i) {
      const auto begin = static_cast<std::int64_t>(i * B), end = static_cast<std::int64_t>((i + 1) * B);
      const std::vector<double> values = finite_log_odds(slice(logits, 0, begin, end), batch, "causes");
      for (std::size_t b = 0; b < B; ++b) {
        const bool is_patched = patches[i].tokens.empty() || !patches[i].tokens[b].empty();
        if (is_patched) (*patches[i].into)[batch.pairs[b]] = values[b];
      }
    }
  }

  // NaN: a pair without tokens of this role.
  Restored::Cell cell_of(const std::vector<double>& values, double cells) const {
    std::vector<double> gained, lost;
    std::vector<int> groups;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (std::isnan(values[i])) continue;
      gained.push_back(values[i] - corrupted_[i]), lost.push_back(clean_[i] - corrupted_[i]);
      groups.push_back(groups_[i]);
    }
    if (gained.empty()) return {.restored = {NAN, NAN, NAN}};
    constexpr double error = 0.05;
    const Interval together = ratio_interval(gained, lost, groups, error / cells);
    const bool has_behaviour = result_.behaviour.low > 0;
    return {ratio_interval(gained, lost, groups, error), has_behaviour && (together.low > 0 || together.high < 0)};
  }

  const Model& model_;
  std::span<const TextPair> pairs_;
  std::vector<int> groups_;                                               // the observation of each pair
  std::vector<double> clean_, corrupted_;                                 // of each pair
  std::map<What, std::vector<std::vector<std::vector<double>>>> values_;  // [row][layer][pair]
  Restored result_;
};

}  // namespace

Restored restored(const Model& model, std::span<const TextPair> pairs, const OnProgress& progress) {
  check_has_head(model);
  RestoredStudy study(model, pairs);
  study.measure(progress);
  return study.result();
}

std::vector<std::vector<TextPair>> kinds_of(std::span<const TextPair> pairs) {
  std::map<std::pair<std::size_t, int>, std::vector<TextPair>> by_kind;
  for (const TextPair& pair : pairs) by_kind[{pair.clean.tokens.size(), pair.clean.query}].push_back(pair);
  std::vector<std::vector<TextPair>> kinds;
  for (auto& [kind, of_kind] : by_kind) {
    std::set<std::string> groups;
    for (const TextPair& pair : of_kind) groups.insert(pair.group);
    if (std::ssize(groups) >= min_groups) kinds.push_back(std::move(of_kind));
  }
  std::ranges::stable_sort(kinds, std::ranges::greater(), [](const auto& kind) { return kind.size(); });
  return kinds;
}

}  // namespace heed

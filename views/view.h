#pragma once
#include "run/dump.h"
#include "run/metrics.h"
#include "tokenizers/internal/json.h"
#include "views/terminal.h"

#include <heed/explain/studies/verdict.h>

#include <optional>
#include <string>
#include <vector>

// Formats a dump or a model as text or JSON. Layers and heads are numbered from 1 in text and from 0 in JSON.
namespace heed {

struct CauseHistory;
struct Causes;
struct MatchedHeads;
struct Report;
struct ScoreParts;
struct SentenceCauses;

struct View {
  Terminal terminal;
  std::optional<int> layer, head;  // from 1; absent: all. Views throw Error if out of range.
  const Dump* before = nullptr;    // the untrained model's dump, shown by query_view for comparison
  const char* before_name = "untrained";
  bool has_steps = true;  // false for a pretrained model, whose step is unknown
};

/// Returns the strongest weights of each sentence's query, a line per layer and head:
///   layer 2 head 1  it -> animal 0.93 ███████▍◂  street 0.03 ▎  others 0.04
/// The antecedent is [bracketed] in the sentence and marked ◂ in the lines. The last line explains both signs. An answer is
/// marked right or wrong if the correct one is known. A model that predicts tokens shows its five most probable ones.
std::string query_view(const Dump& dump, const View& view);

/// Returns all weights of each sentence, layer and head as heat maps: rows are queries, columns are keys.
std::string matrix_view(const Dump& dump, const View& view);

/// Returns the shapes, norms and heat maps of W_Q, W_K, W_V and W_O for each layer.
std::string weights_view(const Model& model, const View& view);
/// Returns {"step":400,"layers":[{"layer":0,"head":null,"matrices":[{"name":"W_Q","shape":[64,64],"frobenius":...,
/// "spectral":...,"heads":[the Frobenius norm of each]}]}]}.
Json weights_json(const Model& model, const View& view);

/// Returns the computation of one layer and head (by default the first) step by step, from X to Q, K, V, scores, weights and
/// output. Reports infinite and NaN values. Throws Error if the steps disagree with the layer's own result.
std::string steps_view(const Model& model, const Example& example, const View& view);
/// Returns {"tokens":[...],"step":400,"layer":0,"head":0,"not_finite":"","steps":[{"equation":"V = X W_V","note":"...",
/// "values":[[...]]}]}.
Json steps_json(const Model& model, const Example& example, const View& view);

/// Returns the verdict, a table of the effect of each intervention by layer and head, and the attribution of each watched
/// sentence's logit.
std::string causes_view(const Causes& causes, const View& view);

/// Returns whether the attention to the antecedent causes the answers: the answer first, then a line per claim. Each claim
/// concerns one set of sentences, and its 95 % interval excludes the figure it is compared with. If no sentence has a known
/// antecedent, as for a language model, returns which head the answers depend on most.
std::vector<std::string> causes_verdict(const Causes& causes);

/// Returns the display name of a role of Cause: "distractor" for "other", "cue word" for "decider".
std::string role_text(const std::string& role);

/// Returns {"sentences":1000,"accuracy":1.0,...,"rows":[{"what":"edge","layer":1,"head":0,"from":"query","to":"antecedent",
/// ...}]}. Layers and heads count from 0. Unknown figures are null, and so are the head of a whole layer and the layer of a
/// whole model.
Json causes_json(const Causes& causes);

/// Returns the head on which the answer to one text depends most, then a table with the effect of each head and its edge that
/// matters most. The tokens and answers are shown as they are.
std::string sentence_causes_view(const SentenceCauses& causes, const View& view);
/// Returns {"tokens":[...],"query":5,"answer":"paris",...,"heads":[{"layer":0,"head":0,"zero":-0.1,...}]}.
Json sentence_causes_json(const SentenceCauses& causes);

/// Returns when the attention of the chosen heads, or of the head that points at the last step, became the cause. A table
/// follows with the weight and the effect of the edge from the query to the antecedent at each saved step.
std::string history_view(const CauseHistory& history, const View& view);
/// Returns when weight and effect grew, and at which steps they differ as shares of their maxima, a line per claim. The 95 %
/// intervals support each claim.
std::vector<std::string> history_verdict(const CauseHistory& history, int layer, int head);
Json history_json(const CauseHistory& history);

/// Returns which heads point in each of several runs, whether each alone is the cause, and which heads match.
std::string matched_heads_view(const MatchedHeads& matched, const View& view);
Json matched_heads_json(const MatchedHeads& matched);

/// Returns the conclusions of a report in words, then its table.
std::string report_view(const Report& report, const Terminal& terminal);
std::vector<std::string> report_verdict(const Report& report);
Json report_json(const Report& report);  // unknown figures are null

/// Returns, for each sentence of a dump, why its query attends to its antecedent rather than to another token, in the chosen
/// head or the one that points. If the antecedent is unknown, the token with the largest weight takes its place. The other
/// token is the antecedent of a minimal pair: a sentence of `watched` that differs in one token. `why_attends_view` returns
/// the result in words.
std::vector<ScoreParts> why_attends(const Model& model, const Dump& dump, const std::vector<SentenceAttention>& watched,
                                    const View& view);
std::string why_attends_view(const std::vector<ScoreParts>& all, const Dump& dump, const View& view);
Json score_parts_json(const ScoreParts& parts);

/// A run at a step, with its line of metrics.jsonl if there is one for the step.
struct Side {
  std::string run, name;  // its directory, and its name in the comparison
  Dump dump;
  std::optional<Metrics> metrics;
};

/// Compares two runs, or two steps of one run. Returns their figures side by side. For each sentence that both watched, and
/// each layer and head, it adds both strongest weights of the query and the token whose weight differs most (b - a).
std::string compare_view(const Side& a, const Side& b, const View& view);
/// Returns {"sides":[{"name":"runs/toy","step":400,...},...],"sentences":[{"tokens":[...],...,"heads":[{"layer":0,"head":0,
/// "strongest":[{"token":1,"weight":0.9},...],"most_apart":{"token":4,"change":-0.7}}]}],"left_out":0}.
/// Lists have the first side first.
Json compare_json(const Side& a, const Side& b, const View& view);

/// Returns "0.96 layer 2 head 1", or "-" if no weight is known.
std::string best_head_text(const Evaluation& evaluation);

/// Returns {"step":400,"sentences":[{"tokens":[...],"query":8,...,"layers":[[[...]]]}]}. An unknown answer is null; a model that
/// predicts tokens adds its five most probable ones, "likeliest".
std::string json_view(const Dump& dump);

/// Returns `text`, wrapped at the terminal's width, and a line end.
inline std::string paragraph(std::string_view text, const Terminal& terminal, int indent = 0) {
  return wrapped(text, terminal.width, indent) + "\n";
}

/// Returns "step 300: ", or "" for a model without steps.
std::string step_text(std::int64_t step, const View& view);

/// Returns the layers or heads (from 0) that `chosen` (from 1) selects among `count`. `what` is "layer" or "head".
struct Range {
  int begin, end;
};
Range chosen_range(const char* option, std::optional<int> chosen, int count);

/// Returns a row of a table of shares: the name, the share, and its interval if it has one. Returns "" for a NaN share. On a
/// narrow terminal the name is on its own line.
std::string share_row(const std::string& name, const Interval& share, const Terminal& terminal);
std::string share_row(const std::string& name, double share, const Terminal& terminal);
std::string share_row(const std::string& name, const std::string& share, const std::string& interval,
                      const Terminal& terminal);

/// Returns {"share":0.5,"low":0.4,"high":0.6}.
Json interval_json(const Interval& interval);

/// Returns "97.4 % of the advantage over chance is lost (95.1 to 99.4)". Where chance is unknown, it is a share of the accuracy.
std::string lost_text(const Verdict& verdict);
/// Returns "To tell whether this is all, a part or none takes about 2300 sentences if the same share is lost.", or "" where no number
/// is known to be enough.
std::string needed_text(const Verdict& verdict);
/// Returns {"kind":"all","lost":0.974,"low":0.951,"high":0.994,"sentences":1000,"chance":0.5,"margins":[0.2,0.8],"needed":null}.
Json verdict_json(const Verdict& verdict);

}  // namespace heed

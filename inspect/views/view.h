#pragma once
#include "files/json.h"
#include "inspect/views/terminal.h"
#include "run/dump.h"
#include "run/metrics.h"

#include <heed/explain/studies/interval.h>

#include <optional>
#include <string>
#include <vector>

// What a person or a program sees of a dump or a model. Layers and heads are numbered from 1 for people and from 0 in
// JSON.
namespace heed {

struct CauseHistory;
struct Causes;
struct MatchedHeads;
struct Report;
struct ScoreParts;

struct View {
  Terminal terminal;
  std::optional<int> layer, head;  // from 1; all when absent. Error when there is no such layer or head.
  const Dump* before = nullptr;    // the same of the untrained model, for query_view to set beside
  const char* before_name = "untrained";
};

// The strongest weights of each sentence's query, a line for each layer and head:
//   layer 2 head 1  it -> animal 0.93 ███████▍◂  street 0.03 ▎  others 0.04
// The antecedent is [bracketed] in the sentence and marked ◂ in the lines, which the last line explains.
std::string query_view(const Dump& dump, const View& view);

// All weights of each sentence, layer and head as a heat map: rows are queries, columns keys.
std::string matrix_view(const Dump& dump, const View& view);

// W_Q, W_K, W_V and W_O of each layer: shapes, norms, heat maps.
std::string weights_view(const SavedModel& model, const View& view);
/// Returns {"step":400,"layers":[{"layer":0,"head":null,"matrices":[{"name":"W_Q","shape":[64,64],"frobenius":...,
/// "spectral":...,"heads":[the Frobenius norm of each]}]}]}.
Json weights_json(const SavedModel& model, const View& view);

/// Returns the way from X to Q, K, V, scores, weights and output in one layer and head (the first ones when none is chosen),
/// computed step by step. It says which numbers are infinite or NaN. Throws Error when the steps do not give what the layer
/// itself gives.
std::string steps_view(const SavedModel& model, const Example& example, const View& view);
/// Returns {"tokens":[...],"step":400,"layer":0,"head":0,"not_finite":"","steps":[{"equation":"V = X W_V","note":"...",
/// "values":[[...]]}]}.
Json steps_json(const SavedModel& model, const Example& example, const View& view);

/// Returns the verdict, a table of what each intervention did, by layer and head, and the parts of each watched sentence's
/// logit.
std::string causes_view(const Causes& causes, const View& view);

/// Returns whether the attention to the antecedent is the cause of the answers, a line for each claim; the first line is the
/// answer. A claim is made where its 95 % interval excludes the figure that it is compared with, and of one set of sentences.
/// Empty when no sentence says what its query refers to.
std::vector<std::string> causes_verdict(const Causes& causes);

/// Returns the name of a role of Cause for people: "distractor" for "other", "cue word" for "decider".
std::string role_text(const std::string& role);

/// Returns {"sentences":1000,"accuracy":1.0,...,"rows":[{"what":"edge","layer":1,"head":0,"from":"query","to":"antecedent",
/// ...}]}: layers and heads count from 0. Unknown figures, the head of a whole layer and the layer of a whole model are null.
Json causes_json(const Causes& causes);

/// Returns in words when the attention of the chosen heads, or of the one that points last, became the cause, then weight and
/// effect of the query's edge to its antecedent at each kept step.
std::string history_view(const CauseHistory& history, const View& view);
/// Returns when weight and effect grew, and where the two, as shares of their largest, are apart: a line for each claim. A
/// claim is made where the 95 % intervals support it.
std::vector<std::string> history_verdict(const CauseHistory& history, int layer, int head);
Json history_json(const CauseHistory& history);

/// Returns who points in each of several runs and whether it is the cause alone, and the heads that match.
std::string matched_heads_view(const MatchedHeads& matched, const View& view);
Json matched_heads_json(const MatchedHeads& matched);

/// Returns what a report shows and does not show, in words, then its table.
std::string report_view(const Report& report, const Terminal& terminal);
std::vector<std::string> report_verdict(const Report& report);
Json report_json(const Report& report);  // what is unknown is null

// Of each sentence of a dump of the model, why its query attends to its antecedent (or to what it looks at most, where that
// is not known) rather than to another, in the chosen head or the one that points; and that in words.
// The other candidate is what another of the `watched` sentences means that differs in one token.
std::vector<ScoreParts> why_attends(const SavedModel& model, const Dump& dump,
                                    const std::vector<SentenceAttention>& watched, const View& view);
std::string why_attends_view(const std::vector<ScoreParts>& all, const Dump& dump, const View& view);
Json score_parts_json(const ScoreParts& parts);

// A run at a step, and its line of metrics.jsonl, where that has one of the step.
struct Side {
  std::string run, name;  // its directory, and what it is called beside the other
  Dump dump;
  std::optional<Metrics> metrics;
};

// Two runs, or two steps of one: their figures side by side, and for each sentence that both watched, in every layer and
// head, the query's strongest weight in each and the token whose weight differs most (second less first).
std::string compare_view(const Side& a, const Side& b, const View& view);
/// Returns {"sides":[{"name":"runs/toy","step":400,...},...],"sentences":[{"tokens":[...],...,"heads":[{"layer":0,"head":0,
/// "strongest":[{"token":1,"weight":0.9},...],"most_apart":{"token":4,"change":-0.7}}]}],"left_out":0}; lists have the first
/// side first.
Json compare_json(const Side& a, const Side& b, const View& view);

// "0.96 layer 2 head 1"; "-" where no weight is known.
std::string best_head_text(const Evaluation& evaluation);

// {"step":400,"sentences":[{"tokens":[...],"query":8,...,"layers":[[[...]]]}]}
std::string json_view(const Dump& dump);

// The layers or heads (from 0) that `chosen` (from 1) means among `count`. `what`: "layer" or "head".
struct Range {
  int begin, end;
};
Range chosen_range(const char* what, std::optional<int> chosen, int count);

/// Returns a row of a table of shares: name, share, and its interval where it has one; "" for a share that is NaN.
std::string share_row(const std::string& name, const Interval& share);
std::string share_row(const std::string& name, double share);

/// Returns {"share":0.5,"low":0.4,"high":0.6}.
Json interval_json(const Interval& interval);

}  // namespace heed

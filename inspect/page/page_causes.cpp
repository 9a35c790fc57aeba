#include "inspect/page/page_causes.h"

#include "inspect/run_studies.h"
#include "run/internal/baselines.h"
#include "run/internal/program.h"
#include "views/causes_by_view.h"
#include "views/view.h"

#include <heed/autograd/machine.h>
#include <heed/explain/studies/report.h>
#include <heed/explain/studies/restored.h>
#include <heed/files/file.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace heed {
namespace fs = std::filesystem;
namespace {

// Recognises a language model whose sentences have no antecedent. Without an antecedent the edge to study is unknown, and
// cutting every edge of a window takes minutes.
bool is_language_model(const Json& description, const Model& model) {
  return model.head().has_token_logits() &&
         std::ranges::all_of(description["sentences"], [](const Json& one) { return one["antecedent"] < 0; });
}

}  // namespace

std::string refused(const std::function<void()>& measure) {
  try {
    measure();
  } catch (const NotFinite&) {
    throw;
  } catch (const OutOfMemoryError&) {
    throw;
  } catch (const FileError&) {
    throw;
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

namespace {

// Returns a number in units of 1 / 10,000, or null.
Json ten_thousandths(double value) { return std::isfinite(value) ? Json(std::lround(10000 * value)) : Json(); }

// Returns the figures of one kind of pairs, as restored.js reads them. Per cell, by layer and token: the share, both ends of its
// interval, and 1 if it is shown to differ from 0.
Json restored_map(const Restored& found, const TextPair& pair) {
  Json map = {{"tokens", found.tokens.size()},
              {"query", pair.clean.query},
              {"pairs", found.pairs},
              {"is_shown", found.behaviour.low > 0}};
  for (const Restored::Table& table : found.tables) {
    if (table.what == Restored::What::head || !map["is_shown"]) continue;
    Json& cells = map[name_of(table.what)] = Json::array();
    for (std::size_t layer = 0; layer < table.cells[0].size(); ++layer) {
      for (const auto& of_token : table.cells) {
        const Restored::Cell& cell = of_token[layer];
        for (const double value : {cell.restored.share, cell.restored.low, cell.restored.high}) {
          cells.push_back(ten_thousandths(value));
        }
        cells.push_back(cell.is_shown ? 1 : 0);
      }
    }
  }
  return map;
}

// Adds how much each activation of minimal pairs restores, by kind of pair, if the run has such pairs.
void add_restored(Json& description, const Model& model, const fs::path& run, int limit, const OnProgress& progress) {
  if (reads_pieces(model)) return;  // the page shows whole words
  refused([&] {
    std::vector<TextPair> pairs = held_out_pairs(model, run, "causes");
    keep_some(pairs, limit, model);
    Json maps = Json::array();
    for (const std::vector<TextPair>& kind : kinds_of(pairs)) {
      maps.push_back(restored_map(restored(model, kind, progress), kind[0]));
    }
    if (!maps.empty()) description["restored"] = std::move(maps);
  });
}

}  // namespace

namespace {

// Returns the causes; their verdict has a second sentence if kinds of sentences are shown to differ.
Json studied_causes(const Model& model, const fs::path& run, const StudyOptions& options) {
  const Causes found = causes(model, run, options);
  Json json = causes_json(found);
  const std::vector<Example> held_out = read_held_out(run);
  const std::string field = default_field(held_out);
  if (field.empty()) return json;
  const std::string differing = differing_kinds(causes_by(model, held_out, found, field, options));
  if (!differing.empty() && !json["verdict"].empty()) json["verdict"].insert(json["verdict"].begin() + 1, differing);
  return json;
}

}  // namespace

void add_causes(Json& description, const Model& model, const fs::path& run, int limit, const OnProgress& progress) {
  if (limit == 0 && is_language_model(description, model)) {
    description["causes_missing"] =
        "inspect page --limit N and inspect causes measure the causes of a language model's predictions.";
    return;
  }
  const StudyOptions options{.most = limit, .progress = progress};
  blas_description();  // throws if OpenBLAS cannot be loaded: an error of the page, not of the causes
  const std::string missing = refused([&] { description["causes"] = studied_causes(model, run, options); });
  if (!missing.empty()) description["causes_missing"] = fmt::format("Causes were not looked for: {}", missing);
  if (!description.contains("causes")) return;
  add_restored(description, model, run, limit, progress);
  if (dumped_model_steps(run).empty()) return;
  // Refused if no sentence has an antecedent; the causes already state this reason.
  refused([&] { description["history"] = history_json(cause_history(run, options)); });
}

void add_card(Json& description, const Model& model, const fs::path& run) {
  if (!model.head().chooses_candidates()) return;
  // Refused without held-out sentences; the page shows the reason in place of the causes.
  refused([&] {
    description["card"] =
        report_json(report(model, read_baselines(run), "held-out sentences", report_sentences(model, run)));
  });
}

}  // namespace heed

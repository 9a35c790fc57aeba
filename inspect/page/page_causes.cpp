#include "inspect/page/page_causes.h"

#include "inspect/run_studies.h"
#include "run/internal/baselines.h"
#include "run/internal/program.h"
#include "views/view.h"

#include <heed/autograd/machine.h>
#include <heed/explain/studies/report.h>
#include <heed/files/file.h>

#include <fmt/format.h>

#include <algorithm>

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

void add_causes(Json& description, const Model& model, const fs::path& run, int limit, const OnProgress& progress) {
  if (limit == 0 && is_language_model(description, model)) {
    description["causes_missing"] =
        "inspect page --limit N and inspect causes measure the causes of a language model's predictions.";
    return;
  }
  const StudyOptions options{.most = limit, .progress = progress};
  blas_description();  // throws if OpenBLAS cannot be loaded: an error of the page, not of the causes
  const std::string missing = refused([&] { description["causes"] = causes_json(causes(model, run, options)); });
  if (!missing.empty()) description["causes_missing"] = fmt::format("Causes were not looked for: {}", missing);
  if (!description.contains("causes") || dumped_model_steps(run).empty()) return;
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

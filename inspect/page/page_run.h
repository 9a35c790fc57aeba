#pragma once
#include "tokenizers/internal/json.h"

#include <heed/explain/progress.h>
#include <heed/explain/sentence_attention.h>
#include <heed/formats/saved_model.h>

#include <filesystem>
#include <string>
#include <vector>

namespace heed {

/// Data of one run in the page.
struct PageRun {
  std::filesystem::path path{};  // of the run, by which page() names it; empty: the description has a name
  // Read by inspect/page/data.js. Initialised as an object: nlohmann/json cannot destroy a value whose conversion failed.
  Json description = Json::object();
  // [step][sentence]: pack_weights() of each head in turn, in base64, as JSON
  std::vector<std::vector<std::string>> weights;
  std::string model;                // the last model as JSON; "" if missing
  std::vector<std::string> models;  // [step]: the part of the model that changes between steps; "" if not kept
};

constexpr std::size_t max_page_bytes = 200 << 20;

/// Page size up to which models of earlier steps are included.
constexpr std::size_t page_bytes_with_models = 20'000'000;

/// Reads the dumps, metrics and model of a run directory, and measures causes on up to `limit` held-out sentences
/// (explain/studies/causes.h). If the weights of all dumped steps exceed about `most` bytes, omits some intermediate steps.
/// Also omits saved models of these steps that would make the page exceed `max_with_models`. Throws Error for a run without
/// dumps, or if its dumps, metrics or model are damaged or belong to different runs.
PageRun page_run(const std::filesystem::path& run, int limit = 0, std::size_t most = max_page_bytes,
                 const OnProgress& progress = {}, std::size_t max_with_models = page_bytes_with_models);

/// Returns what the page holds of one sentence that `model`, called `name`, has read as `example`; with the model, if it is
/// small. "Try it" begins with `text`, as the user typed it, or if that is empty with the joined tokens.
PageRun page_sentence(const std::string& name, const Model& model, SentenceAttention sentence, const Example& example,
                      const std::string& text = {});

}  // namespace heed

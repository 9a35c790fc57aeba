#pragma once
#include "files/json.h"

#include <heed/explain/progress.h>
#include <heed/explain/sentence_attention.h>
#include <heed/models/formats/saved_model.h>

#include <filesystem>
#include <string>
#include <vector>

// Runs as one HTML file that opens offline: its data, its style and its script are in it, and its Content-Security-Policy
// lets it ask for nothing else. The sources are in inspect/page/.
namespace heed {

// What the page holds of a run.
struct PageRun {
  // Read by inspect/page/data.js. An object from the start: nlohmann/json cannot destroy what it could not make one of.
  Json description = Json::object();
  // [step][sentence]: pack_weights() of each head in turn, in base64, as JSON
  std::vector<std::vector<std::string>> weights;
  std::string model;                // the last, as JSON; "" where there is none
  std::vector<std::string> models;  // [step]: what of it was another at that step; "" where that was not kept
};

constexpr std::size_t most_page_bytes = 200 << 20;

// Models of steps before the last are left out of a page that would be larger than this with them.
constexpr std::size_t page_bytes_with_models = 20'000'000;

// Reads dumps, metrics and the model of a run directory, and asks the model for causes, with up to `limit` held-out
// sentences (causes.h). Where the weights of all dumped steps would take more than about `most` bytes, some steps between
// the first and the last are left out; of the models that were kept at these steps, those with which it would take more than
// `most_with_models`. Error for a run without dumps, or whose dumps, metrics or model are damaged or of
// different runs.
PageRun page_run(const std::filesystem::path& run, int limit = 0, std::size_t most = most_page_bytes,
                 const OnProgress& progress = {}, std::size_t most_with_models = page_bytes_with_models);

// Models of more bytes than this stay out of the page.
constexpr std::int64_t page_model_bytes = 2 << 20;

/// Returns what the page holds of one sentence that `model`, called `name`, has read. The model itself is left out.
PageRun page_sentence(const std::string& name, const SavedModel& model, const SentenceAttention& sentence);

std::string page(const std::vector<PageRun>& runs);

}  // namespace heed

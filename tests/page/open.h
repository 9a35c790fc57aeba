#pragma once
#include "browser.h"
#include "inspect/page/page.h"
#include "tests/catch.h"
#include "tests/inspect/sample.h"
#include "tests/scratch.h"

#include <heed/files/file.h>

#include <fmt/format.h>

#include <cmath>

namespace heed {

inline constexpr const char* animal = "The animal didn't cross the street because it was too tired";
inline constexpr const char* street = "The animal didn't cross the street because it was too was";

// Fills a run directory with the answers of a model of `step` to some texts, a dump of step 0 and metrics.
inline void write_run(const std::filesystem::path& run, const Model& model, const std::vector<Example>& examples) {
  std::filesystem::create_directories(run);
  Dump first{0, {}}, last{model.step, {}};
  for (const Example& example : examples) {
    last.sentences.push_back(attend(model, example));
    first.sentences.push_back(last.sentences.back());
    for (Tensor& layer : first.sentences.back().layers) layer = softmax(transpose(layer) * 3.0);
  }
  write_dump(run, first);
  write_dump(run, last);
  save_model(model_path(run), model);
  std::string metrics;
  for (const int step : {0, 200, 400}) {
    metrics +=
        fmt::format(R"({{"step":{},"train_loss":{},"held_out_loss":{},"held_out_accuracy":{},"twin_accuracy":null}})",
                    step, 3.0 - step / 200.0, 3.1 - step / 200.0, step / 400.0) +
        "\n";
  }
  write_file(run / "metrics.jsonl", metrics);
}

inline std::vector<Example> examples_of(const Model& model) {
  std::vector<Example> examples{question(model, animal), question(model, street)};
  examples[0].antecedent = 1;
  examples[1].antecedent = 5;
  return examples;
}

struct Page : Scratch {
  std::filesystem::path file = path / "page.html";
  explicit Page(const Model& model) : Page(model, examples_of(model)) {}
  Page(const Model& model, const std::vector<Example>& examples) {
    write_run(path / "run", model, examples);
    write_file(file, page({page_run(path / "run")}));
  }
};

// Chromium, shared by all tests; nullptr, with a message, when it is not installed.
inline Browser* browser() {
  static const bool installed = [] {
    const bool found = !Browser::program().empty();
    if (!found) fmt::print("page: chromium is not installed, so no page was opened (./setup.sh page installs it)\n");
    return found;
  }();
  if (!installed) return nullptr;
  static Browser one;
  return &one;
}

inline void show(Browser& chromium, const std::string& view) {
  chromium.click("[...document.querySelectorAll('#tabs button')].find((tab) => tab.textContent === '" + view + "')");
}

// Selects option number `value` in the list with this label.
inline void choose(Browser& chromium, const std::string& label, int value) {
  chromium.run(
      fmt::format("(() => {{ const list = document.querySelector('[aria-label=\"{}\"]'); list.value = {}; "
                  "list.dispatchEvent(new Event('change')); }})()",
                  label, value));
  chromium.settle();
}

// Returns the names of the views that the page offers for its run.
inline std::vector<std::string> views_of(Browser& chromium) {
  return chromium
      .run(
          "[...document.querySelectorAll('#tabs [role=tab]')].filter((tab) => !tab.hidden).map((tab) => "
          "tab.textContent)")
      .get<std::vector<std::string>>();
}

// Opens the folded parts of the view.
inline void open_details(Browser& chromium) {
  chromium.run("document.querySelectorAll('#main details.more').forEach((one) => { one.open = true; })");
  chromium.settle();
}

// Presses the button with this text.
inline void press_button(Browser& chromium, const std::string& text) {
  chromium.click("[...document.querySelectorAll('#main button')].find((b) => b.textContent === '" + text + "')");
}

inline double largest_difference(const Json& numbers, const std::vector<double>& expected) {
  REQUIRE(numbers.size() == expected.size());
  double largest = 0;
  for (std::size_t i = 0; i < expected.size(); ++i)
    largest = std::max(largest, std::abs(numbers[i].get<double>() - expected[i]));
  return largest;
}

}  // namespace heed

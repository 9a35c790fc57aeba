#include "inspect/serve/served_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

namespace heed {
namespace {

std::string random_name() {
  std::random_device device;
  std::string name;
  for (int i = 0; i < 4; ++i) name += fmt::format("{:08x}", static_cast<std::uint32_t>(device()));
  return name;
}

HttpAnswer json_answer(const ServedModel& model, const std::string& what, const HttpRequest& request) {
  if (request.method != "POST") return {.status = 405, .body = "expected POST\n"};
  const auto type = request.headers.find("content-type");
  if (type == request.headers.end() || type->second != "application/json") {
    return {.status = 400, .body = "expected Content-Type: application/json\n"};
  }
  try {
    return {.type = "application/json",
            .body = format_json(model.answer(what, parse_json(request.body), request.has_left))};
  } catch (const Error& error) {
    return {.status = 400, .body = fmt::format("{}\n", error.what())};
  }
}

}  // namespace

ServedPage::ServedPage(PageRun run, const Model& model, std::string_view language)
    : model_(model), path_("/" + random_name() + "/") {
  // The page computes by itself if it holds the model and can split a text into tokens.
  const bool is_complete = !run.model.empty() && run.description["model"]["cuts"];
  if (!is_complete) run.description["served"] = model_.description();
  html_ = page({std::move(run)}, language);
}

HttpAnswer ServedPage::operator()(const HttpRequest& request) const {
  const HttpAnswer not_found{.status = 404, .body = "not found\n"};
  if (!request.path.starts_with(path_)) return not_found;
  const std::string what = request.path.substr(path_.size());
  if (std::ranges::count(ServedModel::requests, what) > 0) return json_answer(model_, what, request);
  if (!what.empty()) return not_found;
  if (request.method != "GET") return {.status = 405, .body = "expected GET\n"};
  return {.type = "text/html; charset=utf-8", .body = html_};
}

}  // namespace heed

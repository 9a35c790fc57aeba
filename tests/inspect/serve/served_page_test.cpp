#include "inspect/serve/served_page.h"

#include "tests/catch.h"
#include "tests/models/sample.h"

#include <heed/explain/sentence_attention.h>
#include <heed/models/reading.h>

using namespace heed;

TEST_CASE("ServedPage answers only at its random path") {
  const Model model = small_model();
  const Example example = question(model, "The animal didn't cross the street because it was too tired");
  PageRun run = page_sentence("m", model, attend(model, example), example);
  const ServedPage page(run, model), other(run, model);
  CHECK(page.path().size() == 34);
  CHECK(page.path() != other.path());

  const HttpAnswer whole = page({.method = "GET", .path = page.path(), .headers = {}, .body = ""});
  CHECK(whole.status == 200);
  CHECK(whole.type == "text/html; charset=utf-8");
  CHECK(whole.body.find("connect-src 'self'") == std::string::npos);  // the page holds the model and sends no requests
  run.model.clear();
  const ServedPage asking(run, model);
  const HttpAnswer served = asking({.method = "GET", .path = asking.path(), .headers = {}, .body = ""});
  CHECK(served.body.find("connect-src 'self'") != std::string::npos);

  const auto status = [&](const char* method, const std::string& path, const char* type, const char* body) {
    return page({.method = method, .path = path, .headers = {{"content-type", type}}, .body = body}).status;
  };
  const std::string json = "application/json", understand = page.path() + "understand";
  CHECK(status("GET", "/", "", "") == 404);
  CHECK(status("GET", page.path().substr(0, 33), "", "") == 404);
  CHECK(status("GET", other.path(), "", "") == 404);
  CHECK(status("POST", "/understand", json.c_str(), R"({"text":"it"})") == 404);
  CHECK(status("POST", page.path(), json.c_str(), "") == 405);
  CHECK(status("GET", understand, json.c_str(), "") == 405);
  CHECK(status("POST", understand, "text/plain", R"({"text":"it"})") == 400);  // a form of any site can send this
  CHECK(status("POST", understand, json.c_str(), "{") == 400);
  CHECK(status("POST", understand, json.c_str(), R"({"text":{"a":[[[[[[[[[[[[1]]]]]]]]]]]]}})") == 400);
  CHECK(status("POST", page.path() + "../etc/passwd", json.c_str(), R"({"text":{"pieces":["it"],"query":0}})") == 404);
  CHECK(status("GET", page.path() + "favicon.ico", "", "") == 404);
  CHECK(status("POST", understand, json.c_str(), R"({"text":"it"})") == 200);
}

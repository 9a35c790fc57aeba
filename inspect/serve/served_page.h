#pragma once
#include "inspect/page/page.h"
#include "inspect/serve/local_server.h"
#include "inspect/serve/served_model.h"

#include <string>
#include <string_view>

namespace heed {

/// The page of a run or model, which asks a LocalServer for what its own engine cannot compute.
///
///   LocalServer server(0);
///   const ServedPage page(page_run("runs/toy"), model);
///   fmt::print("http://127.0.0.1:{}{}\n", server.port(), page.path());
///   server.run(page);
class ServedPage {
 public:
  /// The model must outlive this object. `language` is that of page().
  ServedPage(PageRun run, const Model& model, std::string_view language = "");

  /// Returns the page's path: "/", a random name of 32 digits that nobody else can guess, "/".
  const std::string& path() const { return path_; }

  /// Answers a request: GET of path() is the page; POST of path() and "understand", "read" or "continue" is computed.
  HttpAnswer operator()(const HttpRequest& request) const;

 private:
  ServedModel model_;
  std::string path_, html_;
};

}  // namespace heed

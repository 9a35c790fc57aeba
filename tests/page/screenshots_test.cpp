#include "browser.h"
#include "open.h"

#include <algorithm>
#include <cstdlib>

using namespace heed;

// Hidden: `cmake --build BUILD --target page-screenshots` runs it.
TEST_CASE("Every view of every page of HEED_PAGES is drawn, at three widths, light and dark", "[.screenshots]") {
  Browser* chromium = browser();
  if (!chromium) return;
  const char* given = std::getenv("HEED_PAGES");
  REQUIRE(given);
  int pages = 0;
  for (const auto& entry : std::filesystem::directory_iterator(given)) {
    if (entry.path().extension() != ".html") continue;
    ++pages;
    for (const int width : {1440, 1024, 390}) {
      for (const bool dark : {false, true}) {
        chromium->open(std::filesystem::absolute(entry.path()), width, dark);
        for (std::string view : views_of(*chromium)) {
          show(*chromium, view);
          chromium->run("new Promise((done) => setTimeout(done, 500))");  // for results that are computed in slices
          std::ranges::replace(view, ' ', '-');
          const std::string name =
              fmt::format("{}-{}-{}-{}.png", entry.path().stem().string(), width, dark ? "dark" : "light", view);
          const std::string png = chromium->screenshot();
          INFO(name);
          CHECK(png.size() > 10'000);
          write_file(entry.path().parent_path() / name, png);
        }
        CHECK(chromium->complaints() == std::vector<std::string>{});
      }
    }
  }
  CHECK(pages > 0);
}

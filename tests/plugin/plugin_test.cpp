#include "tests/catch.h"

#include <dlfcn.h>
#include <string>
#include <thread>

TEST_CASE("A module linked with the static library loads at run time and trains on any thread") {
  void* module = dlopen(HEED_PLUGIN, RTLD_NOW | RTLD_LOCAL);
  INFO(std::string(module ? "" : dlerror()));
  REQUIRE(module != nullptr);
  const auto learn = reinterpret_cast<double (*)(int)>(dlsym(module, "learn"));
  REQUIRE(learn != nullptr);
  double here = 1, there = 1;
  std::thread thread([&] { there = learn(500); });
  thread.join();
  here = learn(500);
  CHECK(here < 1e-6);
  CHECK(there == here);
}

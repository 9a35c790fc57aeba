#include "tests/views/helpers.h"
#include "views/view.h"

using namespace heed;

TEST_CASE("weights_view gives shapes, norms and signs") {
  Model model = small_model();
  const auto set = [&](const std::string& name, const std::vector<double>& values) {
    Tensor parameter = model.parameters["encoder.0.attention." + name + ".weight"];
    parameter.copy_from(tensor(parameter.shape(), values));
  };
  std::vector<double> ones(8 * 6, 1.0), diagonal(8 * 6, 0.0);
  for (std::size_t i = 0; i < 6; ++i) diagonal[i * 6 + i] = i == 5 ? -3 : 1;
  set("W_Q", ones);
  set("W_K", diagonal);
  const std::string text = weights_view(model, choosing(1, {}));
  CHECK(text.find("  W_Q  (8, 6)            6.928     6.928  4.899 4.899\n") != std::string::npos);
  CHECK(text.find("  W_K  (8, 6)            3.742     3.000  1.732 3.317\n") != std::string::npos);
  CHECK(text.find("  W_V  (8, 10)") != std::string::npos);
  CHECK(text.find("  W_O  (10, 8)") != std::string::npos);
  CHECK(text.find("   █ █ █ █ █ █         ░") != std::string::npos);  // the first row of both
  CHECK(text.find("-█") != std::string::npos);
  CHECK(text.find("layer 2") == std::string::npos);
  check_width(text, 80);

  std::vector<double> opposite(8 * 6, 0.0);  // each row sums to 0
  for (std::size_t i = 0; i < 8; ++i) opposite[i * 6] = 1, opposite[i * 6 + 1] = -1;
  set("W_Q", opposite);
  CHECK(weights_view(model, choosing(1, {})).find("  W_Q  (8, 6)            4.000     4.000") != std::string::npos);

  const std::string second = weights_view(model, choosing(1, 2));
  CHECK(second.find("layer 1 head 2\n") != std::string::npos);
  CHECK(second.find("  W_K  (8, 3)            3.317     3.000\n") != std::string::npos);
  CHECK(second.find("  W_O  (5, 8)") != std::string::npos);
}

TEST_CASE("weights_view fits the terminal") {
  Model model = small_model();
  for (const auto& [name, parameter] : model.parameters) Tensor(parameter).copy_from(parameter.detach() * 1.2345e-7);
  for (const int width : {40, 59, 60, 80, 120}) check_width(weights_view(model, at_width(width)), width);
}

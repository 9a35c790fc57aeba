#include "judges/01_tape.h"
#include "judges/02_broadcasting.h"
#include "judges/03_matmul.h"
#include "judges/04_softmax.h"
#include "judges/05_cross_entropy.h"
#include "judges/06_attention.h"
#include "judges/07_heads.h"
#include "judges/08_block.h"
#include "judges/09_adamw.h"
#include "judges/10_characters.h"
#include "judges/11_induction.h"
#include "judges/12_causes.h"
#include "tests/catch.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string>

namespace learn {
namespace {

Step python_step(const std::filesystem::path& file, const std::string& name, int seconds = seconds_of_a_step) {
  start_python("learn/judges/answer.py", file.string(), seconds);
  const std::map<std::string, std::function<Step()>> steps{{"01_tape", [] { return step_01(python_01()); }},
                                                           {"02_broadcasting", [] { return step_02(python_02()); }},
                                                           {"03_matmul", [] { return step_03(python_03()); }},
                                                           {"04_softmax", [] { return step_04(python_04()); }},
                                                           {"05_cross_entropy", [] { return step_05(python_05()); }},
                                                           {"06_attention", [] { return step_06(python_06()); }},
                                                           {"07_heads", [] { return step_07(python_07()); }},
                                                           {"08_block", [] { return step_08(python_08()); }},
                                                           {"09_adamw", [] { return step_09(python_09()); }},
                                                           {"10_characters", [] { return step_10(python_10()); }},
                                                           {"11_induction", [] { return step_11(python_11()); }},
                                                           {"12_causes", [] { return step_12(python_12()); }}};
  return in_python(steps.at(name)());
}

// Whether python3 has NumPy.
bool has_numpy() { return std::system("python3 -c 'import numpy' 2>/dev/null") == 0; }

}  // namespace

TEST_CASE("The judge accepts the solutions in Python, and names each wrong one and each function that is not written",
          "[learn]") {
  if (!has_numpy()) {
    fmt::print("learn: python3 has no NumPy, so no step in Python was judged (pip install numpy)\n");
    return;
  }
  int judged = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(LEARN_VARIANTS)) {
    const std::filesystem::path& file = entry.path();
    if (file.extension() != ".py") continue;
    const std::string step = file.parent_path().filename().string(), name = file.stem().string();
    INFO(file);
    const Step in_process = python_step(file, step);  // one process for both languages
    for (const Language language : {Language::en, Language::zh}) {
      if (name == "right" && language == Language::zh)
        continue;  // trains for seconds, and the solutions in C++ say the same
      const Verdict verdict = judge(in_process, language);
      INFO(verdict.text);
      CHECK(verdict.right == (name == "right"));
      CHECK(verdict.named == (name == "right" ? std::vector<std::string>{} : std::vector{name}));
      const bool is_unwritten = name == "unwritten";
      CHECK((verdict.text.find(fmt::format("learn/steps/{}.py", step)) != std::string::npos) == (name != "right"));
      CHECK((verdict.text.find(language == Language::en ? "is not written yet" : "还没有写") != std::string::npos) ==
            is_unwritten);
      ++judged;
    }
  }
  CHECK(judged >= 12 + 2 * (12 + 90));
}

TEST_CASE("The judge shows what Python raises, and where", "[learn]") {
  if (!has_numpy()) return;
  const std::filesystem::path directory = std::filesystem::path(LEARN_VARIANTS).parent_path() / "raises";
  std::filesystem::create_directories(directory);
  const auto verdict = [&](const std::string& body, int seconds = seconds_of_a_step) {
    const std::filesystem::path file = directory / "step.py";
    std::FILE* out = std::fopen(file.c_str(), "w");
    fmt::print(out, "import numpy as np\n\n\ndef matmul(A, B):\n    {}\n", body);
    std::fclose(out);
    return judge(python_step(file, "03_matmul", seconds), Language::en).text;
  };
  CHECK(verdict("return A[5, 7]").find("IndexError: index 5 is out of bounds for axis 0 with size 2\n      (line 5)") !=
        std::string::npos);
  CHECK(verdict("A @ B").find("TypeError: matmul() returned None: is its return missing?") != std::string::npos);
  CHECK(verdict("return A, B").find("expected one result, got 2") != std::string::npos);
  CHECK(verdict("print('seen'); return (").find("SyntaxError") != std::string::npos);
  CHECK(verdict("import os; os._exit(3)").find("python3 ended") != std::string::npos);
  CHECK(verdict("while True: pass", 1).find("matmul() has not ended after 60 seconds of processor time") !=
        std::string::npos);
  CHECK(verdict("import time; time.sleep(2.1); return A @ B", 1).find("✓ a product of two square matrices") !=
        std::string::npos);  // a busy machine takes long and uses no processor time
  CHECK(verdict("return A @ B").find("✓ a product of two square matrices") != std::string::npos);
  std::ifstream right(std::filesystem::path(LEARN_VARIANTS) / "10_characters/right.py");
  std::string tensor_returned{std::istreambuf_iterator<char>(right), {}};
  tensor_returned.replace(tensor_returned.find("return loss.item()"), 18, "return loss");
  std::ofstream(directory / "step.py") << tensor_returned;
  CHECK(judge(python_step(directory / "step.py", "10_characters"), Language::en)
            .text.find("train_step() returned Tensor, expected a number: loss.item()") != std::string::npos);
}

}  // namespace learn

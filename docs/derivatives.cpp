// Prints the page docs/reference/derivatives.md: the formula and the derivative of every operation, and the tensors that it saves for
// backward, as the recordings of its gradient-check samples show.
#include <heed/autograd/gradcheck/samples.h>
#include <heed/autograd/record.h>

#include <fmt/ranges.h>

#include <algorithm>
#include <regex>
#include <set>

using namespace heed;

// Returns the name that the formulas use for "input 0", "its output" or "other": the derivative gives the gradients in the order of the
// inputs, "da = dy b, db = dy a", and the formula begins with the output.
static std::string name_in_formulas(const Operation& operation, const std::string& role) {
  static const std::regex gradient(R"(\bd(\w+)[^ ]* \+?=)"), output(R"(^\w+)");
  const std::string formula = operation.formula(), derivative = operation.derivative();
  std::smatch found;
  if (role == "its output" && std::regex_search(formula, found, output)) return found[0];
  std::sregex_iterator at(derivative.begin(), derivative.end(), gradient), end;
  for (int i = 0; at != end; ++at, ++i) {
    if (role == fmt::format("input {}", i)) return (*at)[1];
  }
  return role;
}

static std::vector<std::string> saved_by(const Operation& operation) {
  std::set<std::string> roles;
  Random random(1);
  for (const GradientSample& sample : operation.samples().all()) {
    std::vector<Tensor> x;
    for (const Argument& argument : sample.arguments) x.push_back(variable(draw(argument, random)));
    const Recording recording;
    const Tensor y = sample.function(x);
    for (const std::string& role : Recorder::saved(operation)) roles.insert(role);
  }
  std::vector<std::string> names;
  for (const std::string& role : roles) names.push_back(name_in_formulas(operation, role));
  return names;
}

// Returns `text` as code in a cell of a table.
static std::string code(const std::string& text) {
  std::string cell;
  for (const char c : text) cell += c == '|' ? "\\|" : std::string(1, c);
  return "`" + cell + "`";
}

int main() {
  std::vector<const Operation*> all = operations();
  std::ranges::sort(all, {}, [](const Operation* operation) { return std::string(operation->name()); });
  fmt::print(
      "# Derivatives\n\n"
      "Every operation that a `Recording` follows. `dx` is the gradient of the loss with respect to x; a gradient "
      "check compares it "
      "with central differences. The last column names the tensors that the operation keeps until the recording ends, "
      "where *other* "
      "is none of its inputs and outputs. `backward()` throws if one of them was written since. Other functions of "
      "`<heed/autograd/ops.h>` are compositions of these. A recorded backward (`{{.record = true}}`) computes the "
      "derivatives with operations, some of which, such as *place* and *spread*, serve it alone.\n\n"
      "| operation | computes | derivative | saves |\n|---|---|---|---|\n");
  for (const Operation* operation : all) {
    fmt::print("| {} | {} | {} | {} |\n", operation->name(), code(operation->formula()), code(operation->derivative()),
               fmt::join(saved_by(*operation), ", "));
  }
}

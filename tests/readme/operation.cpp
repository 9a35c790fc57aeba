// Operations of a program outside the tree, with the check of their gradients, one of them with second derivatives, and objects made
// before main() begins.
#include <heed/data/tasks/coreference.h>
#include <heed/formats/saved_model.h>
#include <heed/heed.h>

#include <iostream>

using namespace heed;

Tensor cube(const Tensor& x);
Tensor product(const Tensor& a, const Tensor& b);

static const Operation cube_operation("cube", "y = x^3", "dx = 3 dy x^2", [] { return unary_samples(cube); });
Tensor cube(const Tensor& x) {
  check_defined("cube", {&x});
  const Tensor X = x.detach();
  return record(cube_operation, {&x}, X * X * X, Saved(x),
                Recordable([](const Tensor& dy, const Tensor& saved) { return std::vector{3 * dy * square(saved)}; }));
}

static const Operation product_operation("product", "y = a b", "da = dy b, db = dy a",
                                         [] { return broadcast_samples(product); }, {.broadcasts = true});
Tensor product(const Tensor& a, const Tensor& b) {
  return record(product_operation, {&a, &b}, a.detach() * b.detach(), Saved(a.detach(), b.detach()),
                [](const Tensor& dy, const Tensor& A, const Tensor& B) {
                  return std::vector{dy * B, dy * A};
                });
}

static const Task task = coreference_task(4, 4, Random(1));
static const Model model = load_model("all-MiniLM-L6-v2");

int main() {
  if (task.train.size() != 4 || model.layers() < 1) return 1;
  for (const Operation* operation : {&cube_operation, &product_operation}) {
    const CheckReport report = check(*operation);
    std::cout << operation->name() << (report.passed ? " passed " : " failed ") << report.worst.where << "\n";
    if (!report.passed) return 1;
  }
  std::cout << cube(tensor({2, 2}, {1, 2, 3, 4})) << "\n" << Ids({2}, {7, 8}) << Shape{2, 3} << "\n";
}

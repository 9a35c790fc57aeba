#include "bindings/bindings.h"
#include "train/profile_report.h"

#include <heed/autograd/autocast.h>
#include <heed/autograd/draw.h>
#include <heed/autograd/machine.h>
#include <heed/autograd/operation.h>
#include <heed/autograd/profile.h>
#include <heed/nn/hook.h>

#include <algorithm>
#include <map>
#include <nanobind/stl/map.h>
#include <nanobind/stl/variant.h>
#include <set>
#include <thread>

namespace heed::python {
namespace {

// A guard of this thread as a context manager. Guards of a kind restore what was before, so they close in reverse order: one
// that ends earlier, or a Hook in its own function, stays until those inside it have ended, and a closed Hook shows nothing.
// Python may drop one on another thread, which must not close it.
template <class Guard>
class Managed {
 public:
  template <class... Args>
  void enter(Args&&... args) {
    if (state_) fail("this object is open already; make another one");
    close_ended();
    state_ = std::make_shared<State>();
    state_->guard = std::make_unique<Guard>(std::forward<Args>(args)...);
    thread_ = std::this_thread::get_id();
    open_.push_back(state_);
  }
  void exit() {
    check();
    if (!std::is_same_v<Guard, Hook> && state_->depth != Call::depth) {
      fail("a function that heed calls cannot close what was open before the call");
    }
    end();
  }
  bool is_open() const { return state_ != nullptr; }
  const Guard& get() const {
    check();
    return *state_->guard;
  }
  ~Managed() { end(); }

  static void close_ended() {
    while (!open_.empty() && open_.back()->has_ended && open_.back()->depth == Call::depth) open_.pop_back();
  }

 private:
  struct State {
    std::unique_ptr<Guard> guard{};
    int depth = Call::depth;
    bool has_ended = false;
  };

  void check() const {
    if (!state_) fail("this object is not open; use it in a 'with' statement");
    if (thread_ != std::this_thread::get_id()) fail("another thread opened this object, and must close it");
  }
  void end() {
    if (!state_) return;
    state_->has_ended = true;
    state_.reset();
    if (thread_ == std::this_thread::get_id()) close_ended();
  }

  std::shared_ptr<State> state_;
  std::thread::id thread_;
  static thread_local std::vector<std::shared_ptr<State>> open_;  // of this thread, the earliest first
};
template <class Guard>
thread_local std::vector<std::shared_ptr<typename Managed<Guard>::State>> Managed<Guard>::open_;

template <class Guard>
nb::class_<Managed<Guard>> bind_guard(nb::module_& m, const char* name) {
  using Object = Managed<Guard>;
  return bind_context<Object>(
             m, name, [](Object& self) { self.enter(); }, [](Object& self) { self.exit(); })
      .def(nb::init<>())
      .def("__repr__", [name](const Object&) { return fmt::format("heedml.{}()", name); });
}

struct Cast {
  Precision precision;
  Managed<Autocast> open{};
};

struct PythonProfile {
  Managed<Profile> open{};
  std::map<std::string, Profile::Total> totals{};
  std::string table{};
};

struct PythonHook {
  nb::object function;
  std::vector<std::string> only;  // names for which the function is called, if not empty
  std::shared_ptr<std::set<std::string>> shown = std::make_shared<std::set<std::string>>();
  std::shared_ptr<bool> is_closed{};
  Managed<Hook> open{};

  // Throws if a name of `only` was not shown: its function was never called for it.
  void check() const {
    for (const std::string& name : only) {
      if (shown->contains(name)) continue;
      const std::vector<std::string> names(shown->begin(), shown->end());
      fail("Hook: no layer showed '{}'{}; there {}", name, did_you_mean(name, names),
           names.empty() ? "was no value" : "were " + listed(names));
    }
  }
};

// Shows Python's garbage collector the function: one that holds its hook, as a method does, would otherwise never be freed.
int visit_hook(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (nb::inst_ready(self)) Py_VISIT(nb::inst_ptr<PythonHook>(self)->function.ptr());
  return 0;
}

int clear_hook(PyObject* self) {
  nb::inst_ptr<PythonHook>(self)->function.reset();
  return 0;
}

PyType_Slot hook_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(&visit_hook)},
                            {Py_tp_clear, reinterpret_cast<void*>(&clear_hook)},
                            {0, nullptr}};

void show(const nb::object& function, const std::string& name, Tensor& value) {
  const nb::gil_scoped_acquire lock;
  const Call call;
  const nb::object replacement = function(name, value);
  if (!replacement.is_none()) value = given_tensor(name.c_str(), replacement);
}

// Returns the operation of this name. Operations live as long as the process.
const Operation& operation_named(const std::string& name) {
  static auto* const all = new std::map<std::string, std::unique_ptr<Operation>>;
  auto [at, is_new] = all->try_emplace(name);
  if (is_new) {
    at->second = std::make_unique<Operation>(at->first.c_str(), "a function of Python", "a function of Python",
                                             Samples::none("heedml.check_gradients() checks it"));
  }
  return *at->second;
}

// Calls a function of Python for the gradients: backward(dy, y, *inputs).
class PythonBackward final : public Backward {
 public:
  PythonBackward(nb::object function, std::string name, Tensor y, std::vector<Tensor> inputs, bool is_recordable)
      : function_(kept(std::move(function))),
        name_(std::move(name)),
        y_(std::move(y)),
        inputs_(std::move(inputs)),
        is_recordable_(is_recordable) {}
  std::vector<Tensor> operator()(const Tensor& dy, const NeedsInputGrad&) const override {
    const nb::gil_scoped_acquire lock;
    const Call call;
    const nb::tuple inputs(nb::cast(inputs_));
    return tensors_of((name_ + " backward").c_str(), (*function_)(dy, y_, *inputs));
  }
  void list_saved(std::vector<Tensor*>& tensors) override {
    tensors.push_back(&y_);
    for (Tensor& input : inputs_) tensors.push_back(&input);
  }
  Record record() const override { return is_recordable_ ? Record::same : Record::never; }

 private:
  std::shared_ptr<nb::object> function_;
  std::string name_;
  Tensor y_;
  std::vector<Tensor> inputs_;
  bool is_recordable_;
};

Tensor apply(const std::string& name, const nb::object& forward, const nb::object& backward, bool is_recordable,
             nb::args given) {
  const std::vector<Tensor> inputs = operands_of(name.c_str(), given);
  nb::list values;
  for (const Tensor& input : inputs) values.append(input.detach());
  const std::vector<Tensor> outputs = tensors_of(name.c_str(), forward(*values));
  if (outputs.size() != 1 || !outputs[0].defined())
    fail("{}: expected one Tensor from the forward function, got {}", name, outputs.size());
  std::vector<const Tensor*> pointers;
  for (const Tensor& input : inputs) pointers.push_back(&input);
  const Operation& operation = operation_named(name);
  Recorder::note(operation, pointers, outputs[0]);
  const Recorder::Part part = Recorder::part_of(operation, pointers);
  if (part == Recorder::Part::of_gradients) return Recorder::of_gradients(outputs[0]);
  if (part == Recorder::Part::none) return outputs[0];
  return Recorder::record(operation, pointers, outputs[0],
                          std::make_unique<PythonBackward>(backward, name, outputs[0], inputs, is_recordable));
}

}  // namespace

void bind_record(nb::module_& m, nb::class_<Tensor>& c) {
  bind_guard<Recording>(m, "Recording")
      .def(
          "__len__", [](const Managed<Recording>& r) { return r.get().size(); },
          "Returns the number of recorded operations and variables.");
  bind_guard<NoRecording>(m, "NoRecording");
  bind_guard<FiniteCheck>(m, "FiniteCheck");
  bind_context<Cast>(
      m, "Autocast", [](Cast& cast) { cast.open.enter(cast.precision); }, [](Cast& cast) { cast.open.exit(); })
      .def(
          "__init__",
          [](Cast* self, const std::string& precision) { new (self) Cast{value_of<Precision>("Autocast", precision)}; },
          "precision"_a = "bfloat16", nb::sig("def __init__(self, precision: str = 'bfloat16') -> None"));
  nb::class_<Profile::Total>(m, "ProfileTotal")
      .def_ro("calls", &Profile::Total::calls)
      .def_ro("duration", &Profile::Total::duration, "Nanoseconds.")
      .def_ro("flops", &Profile::Total::flops, "Floating-point operations of matrix products.")
      .def_ro("bytes", &Profile::Total::bytes, "The size of all inputs and outputs.")
      .def("__repr__", [](const Profile::Total& total) {
        return fmt::format("heedml.ProfileTotal(calls={}, duration={}, flops={}, bytes={})", total.calls,
                           total.duration, total.flops, total.bytes);
      });
  bind_context<PythonProfile>(
      m, "Profile", [](PythonProfile& profile) { profile.open.enter(); },
      [](PythonProfile& profile) {
        profile.totals = profile.open.get().totals();
        profile.table = profile_table(profile.open.get(), measure_limits());
        profile.open.exit();
      })
      .def(nb::init<>())
      .def(
          "totals",
          [](const PythonProfile& profile) {
            return profile.open.is_open() ? profile.open.get().totals() : profile.totals;
          },
          "Returns the sums over all calls so far, by the name of the operation.")
      .def("__str__", [](const PythonProfile& profile) { return profile.table; })
      .def("__repr__", [](const PythonProfile& profile) {
        return fmt::format("heedml.Profile({})", counted(std::ssize(profile.totals), "operation"));
      });
  bind_context<PythonHook>(
      m, "Hook",
      [](PythonHook& hook) {
        const auto is_closed = std::make_shared<bool>(false);
        hook.open.enter(
            [f = hook.function, only = hook.only, all = hook.shown, is_closed](const std::string& name, Tensor& value) {
              if (*is_closed) return;
              all->insert(name);
              if (only.empty() || std::ranges::count(only, name)) show(f, name, value);
            });
        hook.is_closed = is_closed;
      },
      [](PythonHook& hook, bool has_failed) {
        hook.open.exit();
        *hook.is_closed = true;
        if (!has_failed) hook.check();
      },
      nb::type_slots(hook_slots))
      .def(
          "__init__",
          [](PythonHook* self, nb::object function, const std::variant<std::string, std::vector<std::string>>& only) {
            const auto* const name = std::get_if<std::string>(&only);
            new (self) PythonHook{.function = std::move(function),
                                  .only = name ? std::vector{*name} : std::get<std::vector<std::string>>(only)};
          },
          "function"_a, "only"_a = nb::tuple(),
          nb::sig("def __init__(self, function: collections.abc.Callable[[str, Tensor], Tensor | None], only: str | "
                  "collections.abc.Sequence[str] = ()) -> None"));
  // a Hook that its own function closed
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&Managed<Hook>::close_ended));
  bind_gradients(m);
  bind_derivatives(m);
  m.def("draw", &draw, "output"_a,
        "Returns what `output` was computed from in the open Recording, as a graph in the DOT language (dot -Tsvg).");
  const auto of = [](const Tensor& loss, const std::optional<Tensor>& cotangent, bool record) {
    return cotangent ? backward(loss, *cotangent, {.record = record}) : backward(loss, {.record = record});
  };
  constexpr const char* doc =
      "Returns the gradients of a scalar (), or of sum(output * cotangent), from the open Recording.\n\nWith `record` "
      "the gradients are recorded, too, so that another backward() gives second derivatives.";
  m.def("backward", of, "loss"_a, "cotangent"_a = nb::none(), "record"_a = false, Unlocked(), doc);
  c.def("backward", of, "cotangent"_a = nb::none(), "record"_a = false, Unlocked(), doc);
  m.def(
      "is_recording", [](const Tensor& x) { return Recorder::follows(x); }, "x"_a,
      "Returns whether an operation on `x` would be recorded now.");
  m.def("_apply", &apply,
        nb::sig("def _apply(name: str, forward: typing.Any, backward: typing.Any, is_recordable: bool, *inputs: "
                "typing.Any) -> Tensor"));
}

}  // namespace heed::python

#include "bindings/bindings.h"

#include <heed/files/file.h>

#include <cstring>
#include <unistd.h>

namespace heed::python {
namespace {

PyObject *error = nullptr, *out_of_memory = nullptr, *not_finite = nullptr, *file_error = nullptr, *explain = nullptr;

void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const OutOfMemoryError& e) {
    PyErr_SetString(out_of_memory, e.what());
  } catch (const NotFinite& e) {
    PyErr_SetString(not_finite, e.what());
  } catch (const FileError& e) {
    PyErr_SetString(file_error, e.what());
  } catch (const Error& e) {
    PyErr_SetString(error, e.what());
  } catch (const std::bad_cast&) {
    PyErr_SetString(PyExc_TypeError, "a value in an argument (of a list, a dict or keywords) has the wrong type");
  }
}

}  // namespace

void bind_errors() {
  const nb::module_ errors = nb::module_::import_("heedml.errors");
  const auto kept = [&](const char* name) { return nb::object(errors.attr(name)).release().ptr(); };
  error = kept("Error"), out_of_memory = kept("OutOfMemoryError");
  not_finite = kept("NotFinite"), file_error = kept("FileError");
  explain = nb::object(nb::module_::import_("heedml.arguments").attr("explain")).release().ptr();
  nb::register_exception_translator(translate);
}

}  // namespace heed::python

// The linker puts this in place of PyErr_SetString(), by which nanobind reports wrong arguments (cmake/python.cmake).
extern "C" void __real_PyErr_SetString(PyObject* type, const char* text);
extern "C" void __wrap_PyErr_SetString(PyObject* type, const char* text) {
  const bool is_call = type == PyExc_TypeError && std::strstr(text, "(): incompatible function arguments.");
  PyObject* const words =
      is_call && heed::python::explain ? PyObject_CallFunction(heed::python::explain, "s", text) : nullptr;
  PyErr_Clear();
  words&& words != Py_None ? PyErr_SetObject(type, words) : __real_PyErr_SetString(type, text);
  Py_XDECREF(words);
}

// While the interpreter ends, CPython before 3.14 lets a daemon thread that asks for the lock end by unwinding its stack. That would
// terminate the process at the first destructor of C++. Here such a thread waits for the end of the process, as it does in CPython 3.14.
namespace {

template <class F>
auto or_wait(F take_lock) {
  try {
    return take_lock();
  } catch (...) {  // pthread_exit() unwinds, and nothing else throws
    while (true) ::pause();
  }
}

// Objects of daemon threads live until the process ends; nanobind would report them as leaks.
void expect_objects_of_daemon_threads() {
  namespace nb = nanobind;
  nb::module_::import_("atexit").attr("register")(nb::cpp_function([] {
    const int threads = nb::cast<int>(nb::module_::import_("threading").attr("active_count")());
    if (threads > 1) nb::set_leak_warnings(false);
  }));
}

}  // namespace

extern "C" void __real_PyEval_RestoreThread(PyThreadState* state);
extern "C" void __wrap_PyEval_RestoreThread(PyThreadState* state) {
  or_wait([&] { __real_PyEval_RestoreThread(state); });
}
extern "C" PyGILState_STATE __real_PyGILState_Ensure();
extern "C" PyGILState_STATE __wrap_PyGILState_Ensure() {
  return or_wait([] { return __real_PyGILState_Ensure(); });
}

NB_MODULE(_core, m) {
  using namespace heed::python;
  bind_errors();
  nanobind::class_<heed::Tensor> tensor = bind_tensor(m);
  bind_random(m);
  bind_operations(m, tensor);
  bind_record(m, tensor);
  bind_layers(m);
  bind_channels(m);
  bind_optimisers(m);
  bind_batch(m);
  bind_models(m);
  bind_programs(m);
  expect_objects_of_daemon_threads();
}

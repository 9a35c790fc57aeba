#include "bindings/bindings.h"

#include <heed/files/file.h>

namespace heed::python {
namespace {

PyObject *error = nullptr, *out_of_memory = nullptr, *not_finite = nullptr, *file_error = nullptr;

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
  nb::register_exception_translator(translate);
}

}  // namespace heed::python

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
  bind_models(m);
  bind_programs(m);
}

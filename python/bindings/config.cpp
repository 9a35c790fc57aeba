#include "bindings/config.h"

namespace heed::python {

Json json_of(nb::handle value) {
  return parse_json(nb::cast<std::string>(nb::module_::import_("json").attr("dumps")(value)));
}

nb::object python_of(const std::string& json) { return nb::module_::import_("json").attr("loads")(json); }

TransformerConfig transformer_config(const char* name, const nb::kwargs& fields) {
  const Json transformer = *name ? Json{{name, json_of(fields)}} : json_of(fields);
  return model_config({{"kind", "bare_transformer"}, {"transformer", transformer}}, 0).transformer;
}

BlockConfig block_config(const char* name, const nb::kwargs& fields) {
  const Json block = *name ? Json{{name, json_of(fields)}} : json_of(fields);
  return model_config({{"kind", "bare_transformer"}, {"transformer", {{"block", block}}}}, 0).transformer.block;
}

}  // namespace heed::python

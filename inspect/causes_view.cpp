#include "inspect/causes.h"
#include "inspect/view.h"

namespace heed {
std::string causes_view(const Causes& causes, const View&) { return causes_json(causes).dump(1); }
}

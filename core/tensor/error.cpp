#include "core/tensor/error.hpp"

namespace tapestry::detail {

void throw_error(fmt::string_view format, fmt::format_args args) { throw Error(fmt::vformat(format, args)); }

}  // namespace tapestry::detail

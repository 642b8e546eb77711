// Names of the library's functions, to which misspelt names are compared.
#pragma once

#include <span>
#include <string_view>

namespace tapestry::grader {

/// Functions of tensors that an answer can call, in alphabetical order.
std::span<const std::string_view> library_names();

/// Returns the number of letters that differ between two names: the least number of letters to insert, delete, replace
/// or exchange with the next one. Capital letters and underscores make no difference.
int spelling_distance(std::string_view a, std::string_view b);

/// Returns the library's function whose name is nearest to a misspelt name, or "" if none is near: at most one letter
/// may differ, two in names of six letters or more. In names of up to four letters, no letter may be replaced.
std::string_view nearest_library_name(std::string_view misspelt);

}  // namespace tapestry::grader

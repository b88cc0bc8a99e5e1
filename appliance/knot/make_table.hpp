#pragma once
/// Makes sim/knot/names/table_data.inc from the Gauss codes beside it.
#include <string>
#include <string_view>

#include "sim/base/result.hpp"
#include "sim/knot/names/homfly.hpp"

namespace ligature::knot {

/// @param knots_csv, links_csv  the files' text: lines `name,crossings,code`, `#` begins a remark
/// @return the text of table_data.inc; an error names the row that is not what it should be: a code that does not
/// close, does not lie in the plane, shows factors, or a determinant that its polynomial does not have
Result<std::string> make_table(std::string_view knots_csv, std::string_view links_csv, HomflySource& source);

}  // namespace ligature::knot

#pragma once
/// Rows as aligned text.
#include <string>
#include <vector>

namespace ligature::shell {

/// The first row is the head. Columns are as wide as their widest cell; the last one is not padded.
std::string aligned(const std::vector<std::vector<std::string>>& rows);

}  // namespace ligature::shell

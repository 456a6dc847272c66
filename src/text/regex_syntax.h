#pragma once

#include <string>
#include <string_view>

namespace glassformer {

// Oniguruma's Ruby dialect written as PCRE2's, for UTF mode without UCP. Throws FileError, naming
// `where` and the construct, for what has no equal there.
std::string translate_regex(std::string_view pattern, const std::string& where);

}  // namespace glassformer

// A user of the installed package: what this build installs, and the examples built against that.
#pragma once

#include <string>
#include <vector>

#include "support/temp_dir.h"

namespace outbox::test {

// Standard output of a command that has to succeed.
std::string run(const std::vector<std::string>& command);

// Installs the components into `folder`/prefix and builds the examples of that folder of the checkout in
// `folder`/build.
void install_and_build(const TempDir& folder, const std::vector<std::string>& components, const std::string& examples);

}  // namespace outbox::test

// How the demo is shown: a calm table that is drawn over itself in a terminal, plain lines elsewhere, nothing with
// --json.
#pragma once

#include <memory>

#include "app/demo.h"

namespace outbox::app {

std::unique_ptr<DemoViewer> make_terminal_viewer();
std::unique_ptr<DemoViewer> make_line_viewer();
std::unique_ptr<DemoViewer> make_silent_viewer();

// The verdict, for people and for programs.
std::string verdict_text(const Findings& findings);
std::string verdict_json(const Findings& findings);

}  // namespace outbox::app

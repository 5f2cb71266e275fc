#include <variant>

#include "app/cli.h"
#include "app/commands/commands.h"

int main(int argc, char** argv) {
  const auto parsed = outbox::app::parse_command_line(argc, argv);
  if (const int* exit_code = std::get_if<int>(&parsed)) return *exit_code;
  return std::visit([](const auto& flags) { return outbox::app::execute(flags); },
                    std::get<outbox::app::Command>(parsed));
}

// The sections of the configuration file that belong to no component: their option tables.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "config/options.h"

namespace outbox::config {

struct Section {
  std::string_view path;  // "" for the top level, "outbox", "sinks.NAME", "routes[]"
  std::string_view title;
  std::string_view help;
  OptionTable options;
};

OptionTable top_options();
OptionTable outbox_options();
OptionTable sink_options();   // common to all types
OptionTable route_options();  // without the address option of the sink's type
OptionTable retry_options();
OptionTable breaker_options();
OptionTable dead_letters_options();
OptionTable forward_options();  // of dead_letters.forward, without the address option of the sink's type
OptionTable admin_options();
OptionTable log_options();

// All of the above in the order of the reference page.
std::span<const Section> sections();

// Names that `outbox.columns` may map, and `outbox.constants` may fix.
std::span<const std::string_view> column_names();
std::span<const std::string_view> constant_names();

// What an address template may hold between braces.
std::span<const std::string_view> message_fields();

// Keys of the file format that this version does not build, and what is to be said of them.
inline constexpr std::array<std::string_view, 2> kLaterSections{"consumers", "receiver"};

}  // namespace outbox::config

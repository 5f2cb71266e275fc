#include <fmt/format.h>

#include "base/text.h"
#include "config/describe.h"
#include "config/sections.h"
#include "config/units.h"

namespace outbox::config {

namespace {

constexpr std::string_view kIntroduction = R"(# Configuration reference

<!-- Made by `outboxd config doc`; a test compares. Change the option tables instead. -->

One YAML file. `outboxd config lint --config FILE` checks it without connecting to anything and shows every error at
once, with its line. Unknown keys are errors.

```yaml
database: postgresql://shop:${DB_PASSWORD}@localhost/shop
sinks:
  events:   { type: kafka, brokers: [ "localhost:9092" ] }
  invoices: { type: http, url: "https://api.example.test/invoices", timeout: { connect: 2s, total: 10s } }
routes:
  - { sink: events, topic: "outbox.event.{aggregate_type}" }
  - { sink: invoices, aggregate_type: order, type: OrderConfirmed, owner: billing-team }
admin: { listen: "127.0.0.1:9480" }
```

- **Durations** carry their unit: `us`, `ms`, `s`, `m`, `h`, `d`; **sizes** too: `B`, `KB`, `MB`, `GB`, powers of 1024.
  A bare number is an error. Fractions are fine where they come out even: `1.5s`.
- **`${NAME}`** is replaced by the environment variable. A name that ends in `_FILE`, as in `${DB_PASSWORD_FILE}`, is
  replaced by what stands in the file that the variable names, less one line break at its end. A variable that is not
  set is an error. `$${` stands for a literal `${`. Inside the database URL a value has to be percent-encoded.
- **`{field}`** in a route's address is a field of the message: `aggregate_type`, `aggregate_id`, `type`, `id`.
- **Precedence**: flag, then environment, then file. `OUTBOX_DATABASE`, `OUTBOX_ADMIN_LISTEN`, `OUTBOX_LOG_LEVEL` and
  `OUTBOX_LOG_FORMAT` stand for `database`, `admin.listen`, `log.level` and `log.format`. Without `--config` the file is
  the one that `OUTBOX_CONFIG` names, else `outboxd.yaml` in the current folder.
- **Booleans** are `true` and `false`; `yes` and `no` are text. Aliases (`&name`, `*name`) work.
)";

std::string type_text(const Option& option) {
  switch (option.type) {
    case OptionType::text: return "text";
    case OptionType::secret: return "secret";
    case OptionType::boolean: return "true, false";
    case OptionType::integer: return "number";
    case OptionType::duration: return "duration";
    case OptionType::size: return "size";
    case OptionType::text_list: return "list";
    case OptionType::text_map: return "map";
    case OptionType::choice: return join(split(option.choices, '|'), ", ");
  }
  return "?";
}

std::string bound_text(const Option& option, std::int64_t bound) {
  if (option.type == OptionType::duration) return to_text(Duration(bound));
  if (option.type == OptionType::size) return size_text(bound);
  return std::to_string(bound);
}

std::string range_text(const Option& option) {
  const bool low = option.min != INT64_MIN;
  const bool high = option.max != INT64_MAX;
  if (low && high) return fmt::format(", {} to {}", bound_text(option, option.min), bound_text(option, option.max));
  if (low) return fmt::format(", at least {}", bound_text(option, option.min));
  if (high) return fmt::format(", at most {}", bound_text(option, option.max));
  return {};
}

std::string default_text(const Option& option) {
  if (option.required) return "required";
  return option.fallback.empty() ? "–" : fmt::format("`{}`", option.fallback);
}

std::string cell(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|') escaped.push_back('\\');
    escaped.push_back(c);
  }
  return escaped;
}

void append_table(std::string& page, OptionTable options) {
  page += "\n| key | value | default | what it is |\n|---|---|---|---|\n";
  for (const Option& option : options) {
    page += fmt::format("| `{}` | {}{} | {} | {} |\n", option.name, type_text(option), range_text(option),
                        cell(default_text(option)), cell(option.help));
  }
}

std::string names_text(std::span<const std::string_view> names) {
  return fmt::format("`{}`", fmt::join(names, "`, `"));
}

}  // namespace

std::string reference_page(std::span<const SinkKind> kinds) {
  std::string page(kIntroduction);
  for (const Section& section : sections()) {
    page += fmt::format("\n## {}\n", section.title);
    if (!section.help.empty()) page += fmt::format("\n{}\n", section.help);
    append_table(page, section.options);
    if (section.path == "outbox") {
      page += fmt::format("\nNames in `columns`: {}.\nNames in `constants`: {}.\n", names_text(column_names()),
                          names_text(constant_names()));
    }
    if (section.path != "sinks.NAME") continue;
    for (const SinkKind& kind : kinds) {
      page += fmt::format("\n### type: {}\n\n{}\n", kind.name, kind.summary);
      if (!kind.second_address_option.empty()) {
        page += fmt::format("A route to such a sink may say `{}:` and `{}:`, texts with `{{field}}`s.\n",
                            kind.address_option, kind.second_address_option);
      } else if (!kind.address_option.empty()) {
        page += fmt::format("A route to such a sink may say `{}:`, a text with `{{field}}`s.\n", kind.address_option);
      }
      if (!kind.options.empty()) append_table(page, kind.options);
    }
  }
  return page;
}

}  // namespace outbox::config

#include "config/describe.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "config/sections.h"

namespace outbox::config {
namespace {

constexpr Option kOptions[] = {
    {.name = "url", .type = OptionType::text, .fallback = "", .help = "where", .required = true},
    {.name = "timeout.total", .type = OptionType::duration, .fallback = "10s", .help = "a|b", .min = 1000},
};
const std::vector<SinkKind> kKinds{{"web", "an endpoint", kOptions, "url", nullptr, {}}};

TEST(ReferencePage, HasEveryOption) {
  const std::string page = reference_page(kKinds);
  for (const Section& section : sections()) {
    EXPECT_NE(page.find("## " + std::string(section.title)), std::string::npos);
    for (const Option& option : section.options) {
      EXPECT_NE(page.find("| `" + std::string(option.name) + "` |"), std::string::npos) << option.name;
    }
  }
  EXPECT_NE(page.find("| `url` | text | required | where |"), std::string::npos);
  EXPECT_NE(page.find("| `timeout.total` | duration, at least 1ms | `10s` | a\\|b |"), std::string::npos);
}

TEST(JsonSchema, IsJsonAndNestsDottedNames) {
  const auto schema = nlohmann::json::parse(json_schema(kKinds));
  EXPECT_EQ(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
  EXPECT_EQ(schema["additionalProperties"], false);
  EXPECT_EQ(schema["required"], (nlohmann::json{"sinks", "routes", "database"}));
  const auto& sink = schema["properties"]["sinks"]["additionalProperties"]["oneOf"][0];
  EXPECT_EQ(sink["properties"]["type"]["const"], "web");
  EXPECT_EQ(sink["properties"]["timeout"]["properties"]["total"]["default"], "10s");
  EXPECT_EQ(sink["required"], (nlohmann::json{"type", "url"}));
  EXPECT_TRUE(sink["properties"]["retry"]["properties"].contains("cap"));
  EXPECT_TRUE(schema["properties"]["routes"]["items"]["properties"].contains("url"));
}

}  // namespace
}  // namespace outbox::config

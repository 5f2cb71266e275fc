#include "model/headers.h"

#include <algorithm>
#include <array>

#include "base/json_walk.h"
#include "base/json_writer.h"

namespace outbox {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool same_name(std::string_view a, std::string_view b) { return std::ranges::equal(a, b, {}, lower, lower); }

bool starts_with_name(std::string_view name, std::string_view prefix) {
  return name.size() >= prefix.size() && same_name(name.substr(0, prefix.size()), prefix);
}

class HeaderReader : public JsonVisitor {
 public:
  HeaderList list;
  std::string problem;

  bool null() override { return fail("null"); }
  bool boolean(bool) override { return fail("a boolean"); }
  bool number(const std::string&) override { return fail("a number"); }

  bool string(std::string& value) override {
    if (depth_ == 0) return fail("a string");
    if (value.find('\0') != std::string::npos) return refuse("the value of \"" + name_ + "\" holds a NUL");
    list.emplace_back(name_, std::move(value));
    return true;
  }

  bool key(std::string& name) override {
    if (name.empty()) return refuse("a name is empty");
    if (name.find('\0') != std::string::npos) return refuse("a name holds a NUL");
    name_ = std::move(name);
    return true;
  }

  bool begin_object() override { return depth_ == 0 ? descend() : fail("an object"); }
  bool begin_array() override { return depth_ == 1 ? descend() : fail("an array"); }
  bool end_object() override { return ascend(); }
  bool end_array() override { return ascend(); }

  void syntax_error(std::size_t position) override { refuse("not JSON at byte " + std::to_string(position)); }

 private:
  bool refuse(std::string why) {
    problem = std::move(why);
    return false;
  }
  bool fail(std::string_view found) {
    if (depth_ == 0) return refuse("an object is expected, not " + std::string(found));
    return refuse("\"" + name_ + "\" is " + std::string(found) + "; a string or an array of strings is expected");
  }
  bool descend() {
    ++depth_;
    return true;
  }
  bool ascend() {
    --depth_;
    return true;
  }

  int depth_ = 0;  // 1 inside the object, 2 inside an array
  std::string name_;
};

bool blank(std::string_view json) { return json.empty() || json == "{}"; }

void add_columns(const Record& record, bool own_content_type, HeaderList& list) {
  list.emplace_back("message-id", record.id);
  list.emplace_back("message-type", record.type);
  list.emplace_back("aggregate-type", record.aggregate_type);
  list.emplace_back("aggregate-id", record.aggregate_id);
  if (!own_content_type) {
    list.emplace_back("content-type", record.payload_json ? "application/json" : "application/octet-stream");
  }
  if (record.aggregate_version) list.emplace_back("aggregate-version", std::to_string(*record.aggregate_version));
  if (record.schema_version) list.emplace_back("schema-version", std::to_string(*record.schema_version));
  if (!record.traceparent.empty()) list.emplace_back("traceparent", record.traceparent);
}

}  // namespace

Result<HeaderList> parse_headers(std::string_view json) {
  if (blank(json)) return HeaderList{};
  HeaderReader reader;
  if (!walk_json(json, reader)) {
    return Failure{FailureKind::invalid,
                   "headers: " + reader.problem + "; write an object of strings or arrays of strings"};
  }
  return std::move(reader.list);
}

Result<HeaderList> wire_headers(const Record& record) {
  Result<HeaderList> own = parse_headers(record.headers);
  if (!own) return own;
  auto content_type = [](const auto& header) { return same_name(header.first, "content-type"); };
  HeaderList list;
  list.reserve(own->size() + 8);
  add_columns(record, std::ranges::any_of(*own, content_type), list);
  const std::size_t columns = list.size();
  for (auto& header : *own) {
    const bool shadowed = std::any_of(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(columns),
                                      [&](const auto& column) { return same_name(column.first, header.first); });
    if (!shadowed) list.push_back(std::move(header));
  }
  return list;
}

Result<std::string> with_header(std::string_view json, std::string_view name, const std::string& value) {
  Result<HeaderList> list = parse_headers(json);
  if (!list) return list.failure();
  std::erase_if(*list, [&](const auto& header) { return same_name(header.first, name); });
  list->emplace_back(name, value);
  JsonWriter writer;
  writer.begin_object();
  for (auto at = list->begin(); at != list->end(); ++at) {
    const auto same = [&](const auto& header) { return header.first == at->first; };
    if (std::any_of(list->begin(), at, same)) continue;
    writer.key(at->first);
    const bool repeated = std::any_of(std::next(at), list->end(), same);
    if (repeated) writer.begin_array();
    for (auto each = at; each != list->end(); ++each) {
      if (same(*each)) writer.value(each->second);
    }
    if (repeated) writer.end_array();
  }
  writer.end_object();
  return writer.text();
}

bool reserved_header(std::string_view name) {
  static constexpr std::array<std::string_view, 5> kNames{"host", "content-length", "transfer-encoding", "connection",
                                                          "authorization"};
  return starts_with_name(name, "webhook-") || starts_with_name(name, "nats-") ||
         std::ranges::any_of(kNames, [&](std::string_view each) { return same_name(name, each); });
}

}  // namespace outbox

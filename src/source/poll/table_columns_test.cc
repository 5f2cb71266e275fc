#include "source/poll/table_columns.h"

#include <gtest/gtest.h>

namespace outbox {
namespace {

std::vector<TableColumn> plain() {
  return {{"id", "uuid", false, true},
          {"aggregate_type", "text", true, false},
          {"aggregate_id", "text", true, false},
          {"event_type", "text", true, false},
          {"payload", "json", true, false},
          {"created_at", "timestamp with time zone", true, false},
          {"published_at", "timestamp with time zone", true, false}};
}

TableMapping mapped(std::map<std::string, std::string> columns, std::map<std::string, std::string> constants = {}) {
  TableMapping mapping;
  mapping.columns = std::move(columns);
  mapping.constants = std::move(constants);
  return mapping;
}

std::string failure_of(const TableMapping& mapping, const std::vector<TableColumn>& columns) {
  auto shape = resolve_shape(mapping, columns);
  return shape ? "no failure" : shape.failure().what;
}

bool mentions(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

bool noted(const TableShape& shape, const std::string& part) {
  for (const auto& note : shape.notes) {
    if (mentions(note, part)) return true;
  }
  return false;
}

TEST(ResolveShape, OurOwnTable) {
  const std::vector<TableColumn> columns{{"id", "uuid", false, true, {}, true},
                                         {"xid", "xid8", false, true},
                                         {"seq", "bigint", false, true, {}, true},
                                         {"aggregatetype", "text", false, false},
                                         {"aggregateid", "text", false, false},
                                         {"type", "text", false, false},
                                         {"payload", "json", true, false},
                                         {"created_at", "timestamp with time zone", false, false},
                                         {"published_at", "timestamp with time zone", true, false}};
  auto shape = resolve_shape({}, columns);
  ASSERT_TRUE(shape) << shape.failure().what;
  EXPECT_TRUE(shape->positions);
  EXPECT_EQ(shape->table.sent, SentMode::keep);
  EXPECT_TRUE(shape->notes.empty()) << shape->notes[0];
}

TEST(ResolveShape, AMarkedTableOrdersByItsCreationTimeAndSaysWhatThatMeans) {
  auto shape = resolve_shape(mapped({{"type", "event_type"}}), plain());
  ASSERT_TRUE(shape) << shape.failure().what;
  EXPECT_EQ(shape->table.sent, SentMode::mark);
  EXPECT_EQ(shape->table.columns.at("order"), "created_at");
  EXPECT_EQ(shape->table.columns.at("headers"), "");
  EXPECT_TRUE(shape->order_nullable);
  EXPECT_TRUE(noted(*shape, "younger messages of its key may have gone before it"));
  EXPECT_TRUE(noted(*shape, "add xid xid8 not null"));
  EXPECT_TRUE(noted(*shape, "no index starts with created_at"));
}

TEST(ResolveShape, NoOrderIsPromisedWhereThereIsNone) {
  auto columns = plain();
  columns.erase(columns.begin() + 5);
  auto shape = resolve_shape(mapped({{"type", "event_type"}}), columns);
  ASSERT_TRUE(shape) << shape.failure().what;
  EXPECT_TRUE(noted(*shape, "no order is promised"));
  EXPECT_TRUE(noted(*shape, "no creation time"));
}

TEST(ResolveShape, SaysWhichColumnIsMissingAndWhatComesNear) {
  EXPECT_TRUE(mentions(failure_of({}, plain()), "no column for type; say columns.type or constants.type"));
  EXPECT_TRUE(mentions(failure_of(mapped({{"type", "evnt_type"}}), plain()), "the nearest is event_type"));
  EXPECT_TRUE(mentions(failure_of(mapped({{"typ", "event_type"}}), plain()), "columns.typ is not one of"));
  EXPECT_TRUE(mentions(failure_of(mapped({{"type", "event_type"}, {"created_at", "payload"}}), plain()),
                       "payload is of type json"));
}

TEST(ResolveShape, AConstantStandsForAColumn) {
  auto shape = resolve_shape(mapped({}, {{"type", "Changed"}}), plain());
  ASSERT_TRUE(shape) << shape.failure().what;
  EXPECT_EQ(shape->table.columns.at("type"), "");
  EXPECT_TRUE(
      mentions(failure_of(mapped({{"type", "event_type"}}, {{"type", "x"}}), plain()), "leave one of them out"));
  EXPECT_TRUE(mentions(failure_of(mapped({}, {{"payload", "x"}}), plain()), "can be constant"));
  EXPECT_TRUE(mentions(failure_of(mapped({}, {{"type", "x"}, {"schema_version", "two"}}), plain()), "not a number"));
}

TEST(ResolveShape, ATableThatRemembersNothingNeedsAChoice) {
  auto columns = plain();
  columns.pop_back();
  auto mapping = mapped({{"type", "event_type"}});
  EXPECT_TRUE(mentions(failure_of(mapping, columns), "sent: delete"));
  mapping.sent_given = true;
  mapping.sent = SentMode::keep;
  EXPECT_TRUE(mentions(failure_of(mapping, columns), "sent: keep needs"));
  mapping.sent = SentMode::mark;
  EXPECT_TRUE(mentions(failure_of(mapping, columns), "sent: mark needs"));
  mapping.sent = SentMode::remove;
  EXPECT_TRUE(resolve_shape(mapping, columns));
}

TEST(ResolveShape, PositionColumnsWithoutIndexesAreSaid) {
  auto columns = plain();
  columns.push_back({"xid", "xid8", false, false});
  columns.push_back({"seq", "bigint", false, false, {}, true});
  auto shape = resolve_shape(mapped({{"type", "event_type"}}), columns);
  ASSERT_TRUE(shape) << shape.failure().what;
  EXPECT_EQ(shape->table.sent, SentMode::keep);
  EXPECT_TRUE(noted(*shape, R"(create index on "outbox" ("seq", "xid"))"));
  EXPECT_TRUE(noted(*shape, R"(create index on "outbox" ("xid", "seq"))"));
}

TEST(ResolveShape, AnIdThatMayBeMissingOrRepeatedIsSaid) {
  auto columns = plain();
  EXPECT_TRUE(noted(*resolve_shape(mapped({{"type", "event_type"}}), columns), R"(add unique ("id"))"));
  columns[0].distinct = true;
  auto shape = resolve_shape(mapped({{"type", "event_type"}}), columns);
  ASSERT_TRUE(shape) << shape.failure().what;
  EXPECT_FALSE(noted(*shape, "unique"));
  EXPECT_FALSE(noted(*shape, "may be NULL"));
  EXPECT_FALSE(shape->id_missing);
  columns[0].nullable = true;
  shape = resolve_shape(mapped({{"type", "event_type"}}), columns);
  ASSERT_TRUE(shape) << shape.failure().what;
  EXPECT_TRUE(noted(*shape, R"(alter table "outbox" alter column "id" set not null)"));
  EXPECT_TRUE(shape->id_missing);
  columns[0] = {"id", "text", false, true, {}, true};
  shape = resolve_shape(mapped({{"type", "event_type"}}), columns);
  ASSERT_TRUE(shape) << shape.failure().what;
  EXPECT_TRUE(shape->id_missing) << "a text may be empty";
}

// A position would pass such rows as if they had been sent.
TEST(ResolveShape, NumbersThatMayBeMissingOrRepeatedAreNoPosition) {
  auto columns = plain();
  columns.push_back({"xid", "xid8", true, true});
  columns.push_back({"seq", "bigint", false, true, {}, true});
  auto mapping = mapped({{"type", "event_type"}});
  EXPECT_TRUE(mentions(failure_of(mapping, columns), R"(alter table "outbox" alter column "xid" set not null)"));
  columns[7].nullable = false;
  EXPECT_EQ(failure_of(mapping, columns), "no failure");
  columns[8].nullable = true;
  EXPECT_TRUE(mentions(failure_of(mapping, columns), R"(alter table "outbox" alter column "seq" set not null)"));
  columns[8].nullable = false;
  columns[8].distinct = false;
  EXPECT_TRUE(mentions(failure_of(mapping, columns), R"(alter table "outbox" add unique ("seq"))"));
  EXPECT_TRUE(mentions(failure_of(mapping, columns), "say sent: mark"));
  mapping.sent_given = true;
  mapping.sent = SentMode::mark;
  EXPECT_EQ(failure_of(mapping, columns), "no failure");
}

TEST(ResolveShape, AColumnOfThatNameAndAnotherMeaningIsLeftAlone) {
  auto columns = plain();
  columns.push_back({"xid", "text", true, false});
  columns.push_back({"seq", "text", true, false});
  auto shape = resolve_shape(mapped({{"type", "event_type"}}), columns);
  ASSERT_TRUE(shape) << shape.failure().what;
  EXPECT_FALSE(shape->positions);
}

}  // namespace
}  // namespace outbox

#include <algorithm>

#include "relay/core_state.h"
#include "relay/variant.h"

namespace outbox {

namespace {

bool contains(const std::vector<std::string>& sorted, const std::string& value) {
  return std::binary_search(sorted.begin(), sorted.end(), value);
}

}  // namespace

// Asks the store, for one sink after the other, which keys and messages of the page have parked deliveries; then takes
// the page in. Sinks without any are not asked.
void Core::State::ask_facts_or_ingest() {
  while (page_facts_.size() < sides_.size() && !sides_[page_facts_.size()]->concerns_stream) {
    page_facts_.emplace_back();
  }
  if (page_facts_.size() == sides_.size()) {
    ingest();
    return;
  }
  Commands::Facts question;
  question.sink = page_facts_.size();
  std::unordered_set<std::string_view> keys;
  for (const RecordPtr& record : page_->records) {
    if (keys.insert(record->key).second) question.keys.push_back(record->key);
    question.message_ids.push_back(record->id);
  }
  asked_ = Asked::facts;
  commands_.facts = std::move(question);
}

void Core::State::ingest() {
  for (PageFacts& facts : page_facts_) {
    std::sort(facts.waiting_keys.begin(), facts.waiting_keys.end());
    std::sort(facts.known_messages.begin(), facts.known_messages.end());
  }
  for (const RecordPtr& record : page_->records) ingest_record(record);
  if (page_->window_done) progress_.window_done(page_->window);
  page_.reset();
  page_facts_.clear();
}

void Core::State::ingest_record(const RecordPtr& record) {
  if (options_.source_repeats && !held_ids_.insert(record->id).second) return;
  if (options_.feed.positions && progress_.was_ahead(*record)) {
    progress_.add(record, 0, page_->window);
    return;
  }
  std::vector<std::pair<std::size_t, const Route*>> targets;
  for (std::size_t i = 0; i < sides_.size(); ++i) {
    if (const Route* route = router_->match(sides_[i]->options.name, *record)) targets.emplace_back(i, route);
  }
  if (targets.empty()) {
    const bool lost_its_way = options_.takes_unrouted && !router_->matches_any(*record);
    const Ordinal ordinal = progress_.add(record, lost_its_way ? 1 : 0, page_->window);
    if (!lost_its_way) return;
    if (!contains(page_facts_[0].known_messages, record->id)) {
      Park park;
      park.record = record;
      park.sink = sides_[0]->options.name;
      park.state = DeliveryState::dead;
      park.reason = "no_route";
      park.error = "no route matches aggregate type '" + record->aggregate_type + "', type '" + record->type + "'";
      note_death(*sides_[0], {0, record, park.reason, park.error, 0, {}, 0});
      add_park(*sides_[0], std::move(park));
    }
    progress_.settle(ordinal);
    return;
  }
  const Ordinal ordinal = progress_.add(record, static_cast<unsigned>(targets.size()), page_->window);
  for (const auto& [index, route] : targets) route_record(*sides_[index], record, *route, ordinal, page_facts_[index]);
}

void Core::State::route_record(Side& side, const RecordPtr& record, const Route& route, Ordinal ordinal,
                               const PageFacts& facts) {
  if (!broken(Variant::known_ignored) && contains(facts.known_messages, record->id)) {
    progress_.settle(ordinal);
    return;
  }
  Line& line = side.out.line(record->key);
  const bool key_waits = !broken(Variant::facts_clear_key) && line.must_park();
  const bool key_waits_in_store = contains(facts.waiting_keys, record->key);
  const bool not_due = record->not_before && *record->not_before > database_now_;
  if (not_due && broken(Variant::not_due_blocks_key)) {
    std::optional<std::string> address = expand(route, *record);
    Delivery& delivery = side.out.append(line, record, route, *address, ordinal);
    delivery.retry_at = steady(*record->not_before);
    side.out.wake(line);
    return;
  }
  // Behind a record of the stream that is still in memory it stays in memory: parked before that one, it would overtake
  // it if the relay were to start over now.
  const bool must_park = (key_waits || key_waits_in_store) && !line.has_stream();
  if (not_due && !can_wait(*record)) {
    die(side, side.out.append(line, record, route, route.address, ordinal), "key_too_long",
        "it is not due, and a key of " + std::to_string(record->key.size()) + " bytes cannot be waited with");
    return;
  }
  if (not_due || must_park) {
    Park park;
    park.record = record;
    park.sink = side.options.name;
    park.next_attempt = not_due ? *record->not_before : database_now_;
    park.not_due = not_due;
    park.charged = !not_due && !waits_for_destination(side);
    park.reason = not_due ? "not_due" : "behind_key";
    park.owner = route.owner;
    if (!not_due && key_waits_in_store) line.rows_behind = true;
    if (not_due || !broken(Variant::park_without_followers)) {
      add_park(side, std::move(park));
      side.out.wake(line);
      progress_.settle(ordinal);
      return;
    }
  }
  std::optional<std::string> address = expand(route, *record);
  Delivery& delivery = side.out.append(line, record, route, address.value_or(std::string()), ordinal);
  if (!die_if_unfit(side, delivery, address.has_value())) side.out.wake(line);
}

// Of what no try would mend.
bool Core::State::die_if_unfit(Side& side, Delivery& delivery, bool has_address) {
  if (!has_address) {
    die(side, delivery, "bad_address", "the route's address '" + delivery.route->address + "' names an unknown field");
    return true;
  }
  const std::size_t limit = side.options.capabilities.payload_max;
  const std::size_t size = delivery.record->payload.size();
  if (limit == 0 || size <= limit) return false;
  die(side, delivery, "too_large",
      "payload of " + std::to_string(size) + " bytes, the sink takes " + std::to_string(limit));
  return true;
}

// Deliveries that come back from the side table, because the first of them is due.
void Core::State::load_run(Side& side, ParkedRun run) {
  Line& line = side.out.line(run.key);
  if (line.has_parked() || line.retreating) return;
  if (broken(Variant::release_out_of_order)) std::reverse(run.deliveries.begin(), run.deliveries.end());
  for (Parked& parked : run.deliveries) {
    if (!load_parked(side, line, std::move(parked))) return;
  }
  line.rows_behind = run.more || line.parks_pending > 0;
  if (broken(Variant::facts_clear_key)) line.rows_behind = false;
  side.out.wake(line);
}

// False if it died and holds its key: nothing behind it may be loaded.
bool Core::State::load_parked(Side& side, Line& line, Parked parked) {
  const Route* route = router_->match(side.options.name, *parked.record);
  if (route == nullptr) {
    ParkedUpdate update;
    update.row = parked.row;
    update.kind = ParkedUpdate::Kind::dead;
    update.replays = parked.replays;
    update.attempts = parked.attempts;
    update.reason = "no_route";
    update.error = "the configuration has no route to this sink for it any more";
    note_death(side, {side.index, parked.record, update.reason, update.error, parked.attempts, {}, parked.row});
    add_update(side, line.key, std::move(update));
    return true;
  }
  const std::optional<std::string> address = expand(*route, *parked.record);
  const auto seen = side.successes_seen.find(parked.record->id);
  Delivery& delivery =
      side.out.append_parked(line, std::move(parked.record), *route, address.value_or(std::string()), parked.row);
  delivery.replays = parked.replays;
  delivery.attempts = parked.attempts;
  delivery.failing_since = parked.failing_since;
  if (seen != side.successes_seen.end()) {
    delivery.successes_seen = seen->second;
    delivery.was_tried = true;
    side.successes_seen.erase(seen);
  }
  return !die_if_unfit(side, delivery, address.has_value()) || !route->dead_letter_holds_key;
}

}  // namespace outbox

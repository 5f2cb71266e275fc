#include <fmt/format.h>

#include <cstdio>

#include "app/commands/commands.h"
#include "app/delivery_report.h"
#include "app/operator_desk.h"
#include "app/settings_file.h"

namespace outbox::app {

namespace {

ListedState state_of(const std::string& name) {
  if (name == "pending") return ListedState::pending;
  if (name == "waiting") return ListedState::waiting;
  return name == "sent" ? ListedState::sent : ListedState::dead;
}

// What only parked deliveries have.
Result<void> check_filter(const ListFlags& flags) {
  const bool parked = flags.state == "waiting" || flags.state == "dead";
  if (parked || (flags.filter.owner.empty() && flags.filter.died_of.empty())) return {};
  return Failure{
      FailureKind::invalid,
      "list: --owner and --died-of go with --state waiting or dead: a message that is " + flags.state + " has neither"};
}

}  // namespace

int execute(const ListFlags& flags) {
  if (auto fits = check_filter(flags); !fits) return report(fits.failure());
  auto opened = open_desk(flags.config);
  if (const int* code = std::get_if<int>(&opened)) return *code;
  auto& desk = std::get<OperatorDesk>(opened);
  const auto filter = make_filter(flags.filter, desk);
  if (!filter) return report(filter.failure());
  auto found = desk.store->list(state_of(flags.state), *filter, route_filters(desk.settings), flags.limit + 1);
  if (!found) return report(found.failure());
  const bool more = found->size() > flags.limit;
  if (more) found->pop_back();
  fmt::print("{}", flags.json ? deliveries_json(*found, more) + "\n" : deliveries_text(*found, more));
  return kDone;
}

}  // namespace outbox::app

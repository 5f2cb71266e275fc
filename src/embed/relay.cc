#include "outbox/relay.h"

#include <atomic>
#include <type_traits>
#include <utility>

#include "app/process_identity.h"
#include "app/relay_service.h"
#include "base/log.h"
#include "base/text.h"
#include "embed/called_sink.h"
#include "embed/relay_settings.h"
#include "embed/tally.h"

namespace outbox {

using app::Database;
using app::RelayService;
using app::SinkMaker;
using std::chrono::steady_clock;

namespace {

Error to_error(const Failure& failure) {
  return Error(one_line(failure.what), {}, failure.kind == FailureKind::unavailable, false);
}

template <class T>
T or_throw(Result<T> result) {
  if (!result) throw to_error(result.failure());
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

MessageSinkFigures to_figures(const SinkView& view, const Tally::Counts& counts) {
  MessageSinkFigures figures;
  figures.name = view.name;
  figures.delivered = counts.delivered;
  figures.died = counts.died;
  figures.in_flight = view.in_flight;
  figures.waiting = view.parked.waiting;
  figures.dead = view.parked.dead;
  figures.held_because = view.held_because;
  figures.last_error = view.last_error;
  return figures;
}

log::Level to_level(RelayLogLevel level) {
  switch (level) {
    case RelayLogLevel::debug: return log::Level::debug;
    case RelayLogLevel::info: return log::Level::info;
    case RelayLogLevel::warn: return log::Level::warn;
    case RelayLogLevel::error: break;
  }
  return log::Level::error;
}

RelayLogLevel to_public(log::Level level) {
  switch (level) {
    case log::Level::debug: return RelayLogLevel::debug;
    case log::Level::info: return RelayLogLevel::info;
    case log::Level::warn: return RelayLogLevel::warn;
    case log::Level::error: break;
  }
  return RelayLogLevel::error;
}

// Set by the first relay, or by set_relay_log() before it.
std::atomic<bool> log_is_set = false;

}  // namespace

void set_relay_log(RelayLogLevel level, std::function<void(RelayLogLevel, std::string_view line)> write) {
  log_is_set = true;
  log::configure(to_level(level), log::Format::logfmt);
  if (!write) return log::redirect({});
  log::redirect([write = std::move(write)](log::Level at, std::string_view line) { write(to_public(at), line); });
}

// The pools outlive the service: its runners' sinks refer to them, and calls that were given up run on in them.
class Relay::Impl {
 public:
  explicit Impl(const RelayOptions& options)
      : relay_(options.name.empty() ? app::relay_name() : options.name),
        settings_(or_throw(embedded_settings(options))) {
    if (!log_is_set.exchange(true)) log::configure(log::Level::warn, log::Format::logfmt);
  }

  void add_sink(const std::string& name, std::shared_ptr<MessageSink> sink, const MessageSinkOptions& options) {
    if (service_) throw Error("the relay has been started: add '" + name + "' before", {}, false, false);
    if (!sink) throw Error("the sink '" + name + "' is a null pointer", {}, false, false);
    or_throw(add_embedded_sink(settings_, name, options));
    registered_.push_back({name, std::move(sink), options.concurrency, nullptr});
  }

  void start() {
    if (service_) throw Error("the relay has been started already", {}, false, false);
    if (registered_.empty()) throw Error("the relay has no sink: add_sink() comes before start()", {}, false, false);
    database_ = or_throw(Database::inspect(settings_));
    or_throw(database_->check_tables());
    for (const std::string& note : database_->notes()) log::warn("this outbox table", {{"note", note}});
    for (Registered& each : registered_) each.pool = std::make_shared<CallPool>(each.sink, each.concurrency);
    service_ = or_throw(RelayService::start(
        {settings_, *database_, sinks_, tally_}, relay_, false,
        [this](const std::string& sink) { return tally_.of(sink).failed_at; }, [](const std::vector<StoreStatus>&) {}));
  }

  void poke() noexcept {
    if (service_) service_->poke();
  }

  void stop() {
    if (!service_) return;
    service_->stop();
    service_->wait_until(steady_clock::time_point::max());
  }

  RelayFigures figures() const {
    RelayFigures figures;
    if (!service_) {
      for (const Registered& each : registered_) figures.sinks.emplace_back().name = each.name;
      return figures;
    }
    figures.state = RelayFigures::State::running;
    for (const FeedView& feed : service_->view()) {
      for (const SinkView& sink : feed.sinks) figures.sinks.push_back(to_figures(sink, tally_.of(sink.name)));
      if (!feed.reading) figures.state = RelayFigures::State::starting;
      if (figures.error.empty()) figures.error = feed.database_error.empty() ? feed.settle_error : feed.database_error;
    }
    const RunnerEnd end = service_->wait_until(steady_clock::now());
    if (end == RunnerEnd::running) return figures;
    figures.state = end == RunnerEnd::stopped ? RelayFigures::State::stopped : RelayFigures::State::failed;
    figures.error = end == RunnerEnd::stopped ? "" : service_->failure().what;
    return figures;
  }

 private:
  struct Registered {
    std::string name;
    std::shared_ptr<MessageSink> sink;
    int concurrency;
    std::shared_ptr<CallPool> pool;
  };

  Result<std::unique_ptr<Sink>> make_sink(const std::string& name) const {
    for (const Registered& each : registered_) {
      if (each.name == name) return make_called_sink(each.pool);
    }
    return Failure{FailureKind::invalid, "the relay has no sink '" + name + "'"};
  }

  const std::string relay_;
  config::Settings settings_;
  std::vector<Registered> registered_;
  const SinkMaker sinks_{[this](const config::SinkSettings& sink) { return make_sink(sink.name); },
                         [](const config::SinkSettings&) -> SinkMaker::Escape { return nullptr; }};
  Tally tally_;
  std::optional<Database> database_;
  std::unique_ptr<RelayService> service_;
};

Relay::Relay(const RelayOptions& options) : impl_(std::make_unique<Impl>(options)) {}
Relay::~Relay() { impl_->stop(); }

void Relay::add_sink(const std::string& name, std::shared_ptr<MessageSink> sink, const MessageSinkOptions& options) {
  impl_->add_sink(name, std::move(sink), options);
}

void Relay::start() { impl_->start(); }
void Relay::poke() noexcept { impl_->poke(); }
void Relay::stop() { impl_->stop(); }
RelayFigures Relay::figures() const { return impl_->figures(); }

}  // namespace outbox

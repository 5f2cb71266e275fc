#include "sink/nats/publisher.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "sink/block_sigpipe.h"
#include "sink/nats/message_headers.h"
#include "sink/nats/subject.h"

namespace outbox::nats {
namespace {

using namespace std::chrono_literals;

constexpr auto kClosePatience = 700ms;
constexpr auto kInterruptPatience = 200ms;
constexpr auto kReopenPatience = 1s;
constexpr auto kLogEvery = 10s;
constexpr std::size_t kWindowBytes = 16u << 20;

Outcome closed() { return unknown("closed", "the sink was closed before the stream confirmed"); }
Outcome reopened() { return client_dead("reopened", "the relay asked for another client"); }

Result<void> readable(const std::string& file) {
  if (file.empty() || ::access(file.c_str(), R_OK) == 0) return {};
  return Failure{FailureKind::local, fmt::format("cannot read {}: {}; see credentials and tls in the sink", file,
                                                 std::generic_category().message(errno))};
}

// What is wrong with the message itself, before any server is asked.
std::optional<Outcome> refusal(const Publication& publication) {
  if (auto problem = subject_problem(publication.destination)) return rejected("invalid_subject", std::move(*problem));
  if (publication.record->payload_null) {
    return rejected("null_payload", "the payload is NULL; a NATS message has one, if an empty one");
  }
  return std::nullopt;
}

}  // namespace

Publisher::~Publisher() { close(); }

Capabilities Publisher::capabilities() const {
  Capabilities capabilities;
  capabilities.pipelines_key = false;
  capabilities.window_messages = options_.window;
  capabilities.window_bytes = kWindowBytes;
  return capabilities;
}

Result<void> Publisher::open(CompletionListener& listener) {
  for (const std::string* file :
       {&options_.credentials.file, &options_.ca_file, &options_.certificate_file, &options_.key_file}) {
    if (Result<void> fine = readable(*file); !fine) return fine;
  }
  if (thread_.joinable()) thread_.join();  // of before close()
  listener_ = &listener;
  closing_ = false;
  ended_ = false;
  thread_ = std::jthread([this] { run(); });
  return {};
}

void Publisher::publish(std::span<const Publication> batch) {
  {
    const std::lock_guard lock(mutex_);
    for (const Publication& publication : batch) held_.add(publication);
    changed_.notify_all();
  }
  bell_.ring();
}

Result<void> Publisher::reopen() {
  std::unique_lock lock(mutex_);
  reopening_ = true;
  changed_.notify_all();
  bell_.ring();
  if (!changed_.wait_for(lock, kReopenPatience, [this] { return !reopening_ || connecting_; })) {
    return Failure{FailureKind::unavailable, "sink " + options_.sink + ": the old NATS connection is still closing"};
  }
  const bool connecting = std::exchange(reopening_, false);  // a new one is being made already
  lock.unlock();
  if (connecting) give_back_all(reopened());
  return {};
}

void Publisher::close() {
  if (!thread_.joinable()) return;
  std::unique_lock lock(mutex_);
  closing_ = true;
  changed_.notify_all();
  bell_.ring();
  const auto ended = [this] { return ended_ || connecting_; };
  if (!changed_.wait_for(lock, kClosePatience, ended) && live_ != nullptr) {
    live_->interrupt();
    changed_.wait_for(lock, kInterruptPatience, ended);
  }
  const bool has_ended = ended_;
  lock.unlock();
  if (has_ended) return thread_.join();
  give_back_all(closed());
}

void Publisher::run() {
  block_sigpipe();
  while (!closing()) {
    serve_reopen();
    if (!connection_) {
      await_work();
      continue;
    }
    send_what_fits();
    const auto patience = silence_patience();
    connection_->exchange(patience);
    take_mail();
    check_connection();
    check_silence();
  }
  give_up(closed());
  const std::lock_guard lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

bool Publisher::closing() {
  const std::lock_guard lock(mutex_);
  return closing_;
}

void Publisher::serve_reopen() {
  {
    const std::lock_guard lock(mutex_);
    if (!reopening_) return;
  }
  give_up(reopened());
  const std::lock_guard lock(mutex_);
  reopening_ = false;
  changed_.notify_all();
}

void Publisher::await_work() {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return closing_ || reopening_ || held_.has_waiting(); });
    if (closing_ || reopening_) return;
    connecting_ = true;
    changed_.notify_all();
  }
  connect();
}

void Publisher::connect() {
  Connection::Dialled dialled;
  for (std::size_t tried = 0; tried < options_.servers.size() && !dialled.connection && !closing(); ++tried) {
    dialled = Connection::dial(options_, options_.servers[next_server_], bell_);
    if (!dialled.connection) next_server_ = (next_server_ + 1) % options_.servers.size();
  }
  connection_ = std::move(dialled.connection);
  {
    const std::lock_guard lock(mutex_);
    connecting_ = false;
    live_ = connection_.get();
    changed_.notify_all();
  }
  if (connection_) {
    answered_at_ = Clock::now();
    if (std::exchange(down_, false)) log::info("nats is back", {{"sink", options_.sink}});
  } else if (!closing()) {
    give_up(dialled.failure);
  }
}

void Publisher::send_what_fits() {
  std::vector<Completion> refused;
  while (connection_->has_room()) {
    Publication next;
    {
      const std::lock_guard lock(mutex_);
      if (!held_.has_waiting()) break;
      next = held_.send_next(Clock::now());
    }
    std::optional<Outcome> outcome = refusal(next);
    if (!outcome) {
      const Result<HeaderList> headers = message_headers(*next.record);
      outcome = headers ? connection_->send(next.id, next.destination, *headers, next.record->payload)
                        : rejected("bad_headers", headers.failure().what);
    }
    if (outcome) refused.push_back({next.id, std::move(*outcome)});
  }
  report(std::move(refused));
}

// Until the oldest message is overdue.
std::chrono::milliseconds Publisher::silence_patience() {
  const std::lock_guard lock(mutex_);
  const std::optional<Clock::time_point> oldest = held_.oldest_sent();
  if (!oldest) return std::chrono::milliseconds(-1);
  const auto left = *oldest + options_.confirm_timeout - Clock::now();
  return std::max(0ms, std::chrono::ceil<std::chrono::milliseconds>(left));
}

void Publisher::take_mail() {
  Mailbox::Content mail = connection_->mail();
  if (!mail.answers.empty()) answered_at_ = Clock::now();
  std::vector<Completion> completions;
  completions.reserve(mail.answers.size());
  for (Answer& answer : mail.answers) {
    if (answer.outcome.reason == "duplicate") report_duplicate(answer);
    completions.push_back({answer.id, std::move(answer.outcome)});
  }
  report(std::move(completions));
  for (const std::string& denial : mail.denials) deny(denial);
}

// Usually a message that was sent again; it could be another one of the same id, which would be lost.
void Publisher::report_duplicate(const Answer& answer) {
  const std::string message = [&] {
    const std::lock_guard lock(mutex_);
    return held_.message_of(answer.id);
  }();
  log::every(kLogEvery, "nats_duplicate:" + options_.sink, log::Level::info, "the stream has this id already",
             {{"sink", options_.sink}, {"message", message}, {"at", answer.outcome.detail}});
}

void Publisher::deny(const std::string& server_error) {
  const std::string subject = denied_subject(server_error);
  if (subject.empty()) return give_up(busy(Scope::sink, "not_authorized", server_error));
  std::vector<DeliveryId> ids;
  {
    const std::lock_guard lock(mutex_);
    ids = held_.take_subject(subject);
  }
  hand_over(ids, busy(Scope::destination, "not_authorized", server_error));
}

void Publisher::check_connection() {
  if (connection_ && !connection_->alive()) give_up(connection_->ending());
}

void Publisher::check_silence() {
  const auto now = Clock::now();
  std::vector<DeliveryId> overdue;
  {
    const std::lock_guard lock(mutex_);
    const std::optional<Clock::time_point> oldest = held_.oldest_sent();
    if (!connection_ || !oldest || now < *oldest + options_.confirm_timeout) return;
    if (answered_at_ > *oldest) overdue = held_.take_sent_until(now - options_.confirm_timeout);
  }
  const std::string text =
      "no confirmation within " + to_text(options_.confirm_timeout) +
      "; the server is stuck, or no stream takes these subjects and only plain subscribers hear them";
  if (overdue.empty()) return give_up(busy(Scope::sink, "no_confirmation", text));
  hand_over(overdue, unknown("timeout", text));
}

void Publisher::give_up(const Outcome& outcome) {
  {
    const std::lock_guard lock(mutex_);
    live_ = nullptr;
  }
  connection_.reset();
  const std::size_t count = give_back_all(outcome);
  if (outcome.verdict == Verdict::unknown || count == 0) return;
  down_ = true;
  log::every(kLogEvery, "nats_down:" + options_.sink, log::Level::warn, "nats connection given up",
             {{"sink", options_.sink},
              {"reason", outcome.reason},
              {"error", outcome.detail},
              {"unconfirmed", std::to_string(count)}});
}

std::size_t Publisher::give_back_all(const Outcome& outcome) {
  std::vector<DeliveryId> ids;
  {
    const std::lock_guard lock(mutex_);
    ids = held_.take_all();
  }
  hand_over(ids, outcome);
  return ids.size();
}

// Of what is still held: the rest was given back before, and its answer comes late.
void Publisher::report(std::vector<Completion> completions) {
  if (completions.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(completions, [this](const Completion& completion) { return !held_.take(completion.id); });
  }
  if (!completions.empty()) listener_->completed(std::move(completions));
}

void Publisher::hand_over(const std::vector<DeliveryId>& ids, const Outcome& outcome) {
  if (ids.empty()) return;
  std::vector<Completion> completions;
  completions.reserve(ids.size());
  for (const DeliveryId id : ids) completions.push_back({id, outcome});
  listener_->completed(std::move(completions));
}

}  // namespace outbox::nats

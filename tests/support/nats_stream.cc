#include "support/nats_stream.h"

#include <unistd.h>

#include <atomic>
#include <stdexcept>

namespace outbox::test {
namespace {

std::string unique_name(const std::string& prefix) {
  static std::atomic<int> count{0};
  return prefix + "-" + std::to_string(::getpid()) + "-" + std::to_string(++count);
}

void check(const std::string& what, natsStatus status) {
  if (status == NATS_OK) return;
  const char* said = nats_GetLastError(nullptr);
  throw std::runtime_error("nats: " + what + ": " + natsStatus_GetText(status) + ": " + (said != nullptr ? said : ""));
}

NatsMessage convert(natsMsg* raw) {
  NatsMessage message;
  message.subject = natsMsg_GetSubject(raw);
  message.data.assign(natsMsg_GetData(raw), static_cast<std::size_t>(natsMsg_GetDataLength(raw)));
  message.sequence = natsMsg_GetSequence(raw);
  message.at_ms = natsMsg_GetTime(raw) / 1'000'000;
  const char** names = nullptr;
  int count = 0;
  if (natsMsgHeader_Keys(raw, &names, &count) != NATS_OK) return message;
  for (int i = 0; i < count; ++i) {
    const char** values = nullptr;
    int many = 0;
    check("header", natsMsgHeader_Values(raw, names[i], &values, &many));
    for (int j = 0; j < many; ++j) message.headers.emplace_back(names[i], values[j]);
    free(static_cast<void*>(values));
  }
  free(static_cast<void*>(names));
  return message;
}

}  // namespace

std::string NatsMessage::header(const std::string& name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return {};
}

struct NatsStream::Client {
  natsConnection* connection = nullptr;
  jsCtx* js = nullptr;

  explicit Client(const std::string& url) {
    check("connect to " + url, natsConnection_ConnectTo(&connection, url.c_str()));
    check("JetStream", natsConnection_JetStream(&js, connection, nullptr));
  }
  ~Client() {
    jsCtx_Destroy(js);
    natsConnection_Destroy(connection);
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  jsStreamState state(const std::string& name) {
    jsStreamInfo* info = nullptr;
    check("stream " + name, js_GetStreamInfo(&info, js, name.c_str(), nullptr, nullptr));
    const jsStreamState state = info->State;
    jsStreamInfo_Destroy(info);
    return state;
  }
};

NatsStream::NatsStream(std::string url, const std::string& prefix, const Tune& tune)
    : url_(std::move(url)), name_(unique_name(prefix)) {
  configure(tune, false);
}

NatsStream::~NatsStream() {
  try {
    js_DeleteStream(client().js, name_.c_str(), nullptr, nullptr);
  } catch (const std::runtime_error&) {
    // The server is away, and the stream with it.
  }
}

NatsStream::Client& NatsStream::client() {
  if (!client_ || natsConnection_Status(client_->connection) != NATS_CONN_STATUS_CONNECTED) {
    client_ = std::make_unique<Client>(url_);
  }
  return *client_;
}

void NatsStream::configure(const Tune& tune, bool exists) {
  jsStreamConfig config;
  jsStreamConfig_Init(&config);
  const std::string subjects = name_ + ".>";
  const char* list[] = {subjects.c_str()};
  config.Name = name_.c_str();
  config.Subjects = list;
  config.SubjectsLen = 1;
  if (tune) tune(config);
  const auto function = exists ? js_UpdateStream : js_AddStream;
  check("stream " + name_, function(nullptr, client().js, &config, nullptr, nullptr));
}

void NatsStream::update(const Tune& tune) { configure(tune, true); }

void NatsStream::purge() { check("purge " + name_, js_PurgeStream(client().js, name_.c_str(), nullptr, nullptr)); }

std::vector<NatsMessage> NatsStream::read() {
  std::vector<NatsMessage> messages;
  const jsStreamState state = client().state(name_);
  if (state.Msgs == 0) return messages;
  for (std::uint64_t sequence = state.FirstSeq; sequence <= state.LastSeq; ++sequence) {
    natsMsg* raw = nullptr;
    check("message of " + name_, js_GetMsg(&raw, client().js, name_.c_str(), sequence, nullptr, nullptr));
    messages.push_back(convert(raw));
    natsMsg_Destroy(raw);
  }
  return messages;
}

std::uint64_t NatsStream::count() { return client().state(name_).Msgs; }
std::uint64_t NatsStream::last_sequence() { return client().state(name_).LastSeq; }

}  // namespace outbox::test

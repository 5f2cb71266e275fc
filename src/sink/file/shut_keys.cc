#include "sink/file/shut_keys.h"

namespace outbox::file {

Outcome behind_failed() {
  return client_dead("behind_failed", "written together with what could not be; sent again in order");
}

bool shared(const Outcome& why, const std::string& failed, const std::string& destination) {
  return failed == destination || (why.verdict == Verdict::busy && why.scope == Scope::sink);
}

void ShutKeys::shut(const Publication& publication, const Outcome& why) {
  keys_.insert_or_assign(publication.record->key, Failure{publication.destination, why});
}

std::vector<Completion> ShutKeys::take_out(std::vector<Publication>& batch) {
  std::vector<Completion> out;
  if (keys_.empty()) return out;
  std::erase_if(batch, [&](const Publication& each) {
    const auto found = keys_.find(each.record->key);
    if (found == keys_.end()) return false;
    if (each.first_in_key) {
      keys_.erase(found);
      return false;
    }
    const Failure& failure = found->second;
    const bool own = shared(failure.why, failure.destination, each.destination);
    out.push_back({each.id, own ? failure.why : behind_failed()});
    return true;
  });
  return out;
}

}  // namespace outbox::file

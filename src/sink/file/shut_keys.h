// ShutKeys: keeps a key's order after something of it came back unwritten. What the relay had published behind that,
// before it took note, comes back as well: all of the key up to the next Publication::first_in_key.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "sink/sink.h"

namespace outbox::file {

class ShutKeys {
 public:
  void shut(const Publication& publication, const Outcome& why);
  // Takes out of the batch what has to come back: with the failure itself where that is its own, else client_dead.
  std::vector<Completion> take_out(std::vector<Publication>& batch);

  void clear() { keys_.clear(); }
  std::size_t size() const { return keys_.size(); }

 private:
  struct Failure {
    std::string destination;
    Outcome why;
  };
  std::unordered_map<std::string, Failure> keys_;
};

// What a message gets that fails with another one only.
Outcome behind_failed();
// Whether the failure of a message to `failed` is that of one to `destination`, too.
bool shared(const Outcome& why, const std::string& failed, const std::string& destination);

}  // namespace outbox::file

// SQLite → HTTP with the real daemon: the demo's shop and partner, and the verdict.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "app/checker.h"
#include "app/demo_partner.h"
#include "app/demo_shop.h"
#include "support/daemon.h"

namespace outbox::test {

class SqliteHttp : public testing::Test {
 protected:
  // `refused_percent` of the orders are refused by the partner, and so become dead letters.
  explicit SqliteHttp(int refused_percent = 0, const std::filesystem::path& folder = {});

  std::unique_ptr<ChildProcess> start_relay() const { return daemon_.start(); }

  // How much the position has not passed yet: at a kill, what was in flight or to come.
  std::int64_t unpassed() const;
  std::vector<std::string> dead_letters() const;
  std::int64_t attempts_used() const;  // by any parked delivery, at most
  bool nothing_waits() const;

  // Lets a relay deliver the rest and end by SIGTERM; the checker judges.
  void judge();

  Daemon daemon_;
  std::unique_ptr<app::DemoShop> shop_;
  std::unique_ptr<app::DemoPartner> partner_;
};

}  // namespace outbox::test

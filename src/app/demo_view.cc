#include "app/demo_view.h"

#include <fmt/format.h>

#include <cstdio>
#include <deque>

#include "base/json_writer.h"

namespace outbox::app {

namespace {

double seconds(Duration duration) { return static_cast<double>(duration.count()) / 1e6; }

std::string clock(const DemoPicture& picture) {
  if (!picture.of) return fmt::format("{:.1f} s, Ctrl-C ends it", seconds(picture.elapsed));
  return fmt::format("{:.1f} s of {:.0f} s", seconds(picture.elapsed), seconds(*picture.of));
}

std::string relay_line(const DemoPicture& picture) {
  return fmt::format("{:<9}{:>7} unsent {:>7} waiting {:>6} dead   breaker {}, killed {}×",
                     picture.relay_runs ? "running" : "KILLED", picture.unsent, picture.waiting, picture.dead,
                     picture.breaker.empty() ? "-" : picture.breaker, picture.kills);
}

std::string partner_line(const DemoPicture& picture) {
  return fmt::format("{:<9}{:>7} invoices {:>5} refused {:>6} × 500  {} hung, {} repeats recognised",
                     to_string(picture.mood), picture.partner.invoices, picture.partner.refused, picture.partner.failed,
                     picture.partner.hung, picture.partner.repeats);
}

std::string shop_line(const DemoPicture& picture) {
  return fmt::format("{:<9}{:>7} orders committed, {} rolled back", "open", picture.shop.committed,
                     picture.shop.rolled_back);
}

class TerminalViewer : public DemoViewer {
 public:
  ~TerminalViewer() override { fmt::print("\n"); }

  void show(const DemoPicture& picture) override {
    std::string text;
    if (drawn_ > 0) text += fmt::format("\x1b[{}A", drawn_);
    drawn_ = 0;
    line(text, fmt::format("\x1b[1moutboxd demo\x1b[0m   {}", clock(picture)));
    line(text, "");
    line(text, "  shop     " + shop_line(picture));
    line(text, "  relay    " + relay_line(picture));
    line(text, "  partner  " + partner_line(picture));
    line(text, "");
    for (std::size_t i = 0; i < kEvents; ++i) line(text, i < events_.size() ? "  " + events_[i] : "");
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  }

  void happened(Duration elapsed, const std::string& what) override {
    events_.push_back(fmt::format("\x1b[2m{:>6.1f} s  {}\x1b[0m", seconds(elapsed), what));
    if (events_.size() > kEvents) events_.pop_front();
  }

 private:
  static constexpr std::size_t kEvents = 6;

  void line(std::string& text, const std::string& content) {
    text += "\r\x1b[2K" + content + "\n";
    ++drawn_;
  }

  std::deque<std::string> events_;
  int drawn_ = 0;
};

class LineViewer : public DemoViewer {
 public:
  void show(const DemoPicture& picture) override {
    if (picture.elapsed < next_) return;
    next_ = picture.elapsed + Duration(1s);
    fmt::print("{:>6.1f} s  committed {}  rolled back {}  invoices {}  unsent {}  waiting {}  dead {}  partner {}\n",
               seconds(picture.elapsed), picture.shop.committed, picture.shop.rolled_back, picture.partner.invoices,
               picture.unsent, picture.waiting, picture.dead, to_string(picture.mood));
    std::fflush(stdout);
  }

  void happened(Duration elapsed, const std::string& what) override {
    fmt::print("{:>6.1f} s  {}\n", seconds(elapsed), what);
    std::fflush(stdout);
  }

 private:
  Duration next_{};
};

class SilentViewer : public DemoViewer {
 public:
  void show(const DemoPicture&) override {}
  void happened(Duration, const std::string&) override {}
};

}  // namespace

std::unique_ptr<DemoViewer> make_terminal_viewer() { return std::make_unique<TerminalViewer>(); }
std::unique_ptr<DemoViewer> make_line_viewer() { return std::make_unique<LineViewer>(); }
std::unique_ptr<DemoViewer> make_silent_viewer() { return std::make_unique<SilentViewer>(); }

std::string verdict_text(const Findings& findings) {
  std::string text = fmt::format(
      "verdict: {}\n"
      "  committed     {:>8}   orders that were committed, each with its message\n"
      "  rolled_back   {:>8}   orders that were rolled back: their messages must never appear\n"
      "  delivered     {:>8}   distinct messages that arrived\n"
      "  dead          {:>8}   dead letters: the partner refused them, the reason is kept\n"
      "  duplicates    {:>8}   arrived again, after a kill or a lost answer\n"
      "  effects       {:>8}   invoices: one per message, however often it came\n"
      "  lost          {:>8}\n"
      "  ghosts        {:>8}\n"
      "  out_of_order  {:>8}\n",
      findings.clean() ? "every committed order arrived or is a dead letter, in order, with one effect"
                       : "THE CHECKER FOUND A FAULT",
      findings.committed, findings.rolled_back, findings.delivered, findings.dead, findings.duplicates,
      findings.effects, findings.lost, findings.ghosts, findings.out_of_order);
  for (const std::string& fault : findings.faults) text += "  " + fault + "\n";
  return text;
}

std::string verdict_json(const Findings& findings) {
  JsonWriter json;
  json.begin_object();
  json.key("committed").value(findings.committed).key("rolled_back").value(findings.rolled_back);
  json.key("delivered").value(findings.delivered).key("duplicates").value(findings.duplicates);
  json.key("effects").value(findings.effects).key("lost").value(findings.lost).key("ghosts").value(findings.ghosts);
  json.key("out_of_order").value(findings.out_of_order).key("dead").value(findings.dead);
  json.end_object();
  return json.text() + "\n";
}

}  // namespace outbox::app

#include "report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>

namespace outbox::bench {

namespace {

double load_average() {
  double load = 0;
  return getloadavg(&load, 1) == 1 ? load : 0;
}

template <class Rounds, class Figure>
std::vector<double> figures(const Rounds& rounds, const Figure& figure) {
  std::vector<double> values;
  for (const auto& round : rounds) values.push_back(figure(round));
  return values;
}

}  // namespace

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

Report::Report(std::string name, std::string what) : name_(std::move(name)), what_(std::move(what)) {}

void Report::add(const std::string& contestant, std::int64_t messages, const Usage& usage) {
  auto found =
      std::find_if(contestants_.begin(), contestants_.end(), [&](auto& each) { return each.name == contestant; });
  if (found == contestants_.end()) found = contestants_.insert(found, Contestant{contestant, {}});
  found->rounds.push_back({messages, usage});
  fmt::print(stderr, "{}: {}: {} in {:.2f} s, {:.2f} CPU-s, {} MB\n", name_, contestant, messages, usage.seconds,
             usage.cpu_seconds, usage.rss_kb / 1024);
}

double Report::rate_of(const std::string& contestant) const {
  for (const Contestant& each : contestants_) {
    if (each.name == contestant) return median(figures(each.rounds, std::mem_fn(&Round::rate)));
  }
  return 0;
}

void Report::finish(const Rig& rig, const std::string& limit) const {
  const double of = rate_of(limit);
  fmt::print("\n{}: {}\nmedian of {} rounds; load average {:.1f}\n\n", name_, what_, rig.rounds, load_average());
  fmt::print("{:50} {:>10} {:>21} {:>16} {:>18} {:>8} {:>8}\n", "", "messages/s", "(lowest–highest)", "CPU-s / million",
             "(lowest–highest)", "RSS MB", "share");
  for (const Contestant& each : contestants_) {
    const auto rates = figures(each.rounds, std::mem_fn(&Round::rate));
    const auto cpu = figures(each.rounds, std::mem_fn(&Round::cpu_per_million));
    const auto rss = figures(each.rounds, [](const Round& round) { return static_cast<double>(round.usage.rss_kb); });
    const auto [slowest, fastest] = std::minmax_element(rates.begin(), rates.end());
    const auto [least, most] = std::minmax_element(cpu.begin(), cpu.end());
    fmt::print("{:50} {:>10.0f} {:>21} {:>16.2f} {:>18} {:>8.0f} {:>7.0f}%\n", each.name, median(rates),
               fmt::format("({:.0f}–{:.0f})", *slowest, *fastest), median(cpu),
               fmt::format("({:.2f}–{:.2f})", *least, *most), *std::max_element(rss.begin(), rss.end()) / 1024,
               100 * median(rates) / of);
  }
  if (!rig.json.empty()) write_text(rig.json, json());
}

std::string Report::json() const {
  std::string text =
      fmt::format("{{\"name\":\"{}\",\"what\":\"{}\",\"load\":{:.1f},\"contestants\":[", name_, what_, load_average());
  for (const Contestant& each : contestants_) {
    text += fmt::format("{}\n {{\"name\":\"{}\",\"rounds\":[", &each == &contestants_.front() ? "" : ",", each.name);
    for (const Round& round : each.rounds) {
      text += fmt::format("{}{{\"messages\":{},\"seconds\":{:.3f},\"cpu_seconds\":{:.3f},\"rss_kb\":{}}}",
                          &round == &each.rounds.front() ? "" : ",", round.messages, round.usage.seconds,
                          round.usage.cpu_seconds, round.usage.rss_kb);
    }
    text += "]}";
  }
  return text + "]}\n";
}

}  // namespace outbox::bench

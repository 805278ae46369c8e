// SPDX-License-Identifier: BSD-3-Clause
// robust/mutate.cpp: loads millions of damaged traces and all prefixes of one.
//
//   mutate [--seed S] [--count N] [--seconds T] [--prefixes PART/PARTS]
//
// Input n of seed S is the same in every run, whatever came before. The first that
// breaks a promise (checks.h), kills the process or takes a minute is written to
// robust-failure-S-n.bin, and the program fails. The digest of all outcomes is printed,
// so that runs on other CPU paths can be compared.
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "robust/checks.h"
#include "robust/mutation.h"
#include "robust/seeds.h"

// Of the sanitizers' runtime, where there is one.
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*)());

// Half of the time went into what these turn down: long stacks of each allocation, and
// freed memory held back for longer than one load lasts.
extern "C" const char* __asan_default_options() {
  return "malloc_context_size=4:quarantine_size_mb=4:thread_local_quarantine_size_kb="
         "64:"
         "allocator_release_to_os_interval_ms=-1";
}

namespace tta::robust {
namespace {

struct Arguments {
  std::uint64_t seed = 1;
  std::uint64_t count = 20'000;
  double seconds = 0;  // instead of the count, if more
  bool once = false;   // load each input in one way only
  std::uint64_t part = 0, parts = 0;
};

// What is being loaded, for the handlers below.
std::string current;
bool is_loading = false;
char failure_file[64];

// Writes with system calls only: the process may be in any state.
void write_failure() {
  if (!is_loading) return;
  const int file = open(failure_file, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  const bool written = file >= 0 && write(file, current.data(), current.size()) ==
                                        static_cast<ssize_t>(current.size());
  static constexpr char kNote[] = "mutate: the input is in ";
  if (!written || write(2, kNote, sizeof kNote - 1) < 0 ||
      write(2, failure_file, std::strlen(failure_file)) < 0 || write(2, "\n", 1) < 0) {
    _exit(3);
  }
  is_loading = false;
}

void on_signal(int number) {
  write_failure();
  std::signal(number, SIG_DFL);
  std::raise(number);
}

void check_input(std::string bytes, const Plan& plan, std::uint64_t number,
                 const Arguments& arguments, Counts& counts) {
  std::snprintf(failure_file, sizeof failure_file, "robust-failure-%llu-%llu.bin",
                static_cast<unsigned long long>(arguments.seed),
                static_cast<unsigned long long>(number));
  current = std::move(bytes);
  is_loading = true;
  if (number % 256 == 0) alarm(60);
  check(current, plan, counts);
  is_loading = false;
}

// Input `number` of a seed; a few are large, and a few gzip.
std::string make_input(std::uint64_t number, Random& random,
                       const std::vector<std::string>& small,
                       const std::vector<std::string>& large) {
  const bool is_large = number % 500 == 0;
  const std::vector<std::string>& seeds = is_large ? large : small;
  std::string text = seeds[draw(random, seeds.size())];
  const bool is_gzip = draw(random, 64) == 0;
  // Sound text in damaged gzip as well.
  std::size_t changes = is_gzip ? draw(random, 2) : 1;
  while (changes < 5 && draw(random, 3) == 0) ++changes;
  for (; changes > 0; --changes) mutate(text, small, random);
  if (!is_gzip) return text;
  std::string bytes = gzip(text);
  for (std::size_t n = draw(random, 3); n > 0; --n) mutate_gzip(bytes, random);
  return bytes;
}

void run_prefixes(const Arguments& arguments, Counts& counts) {
  const std::string whole = prefix_seed();
  for (std::size_t size = arguments.part; size < whole.size();
       size += arguments.parts) {
    Random random(size);
    check_input(whole.substr(0, size), plan_of(random()), size, arguments, counts);
  }
}

void run_mutations(const Arguments& arguments, Counts& counts) {
  const auto small = small_seeds();
  const auto large = large_seeds();
  const auto begin = std::chrono::steady_clock::now();
  const auto more = [&](std::uint64_t number) {
    if (arguments.seconds == 0) return number < arguments.count;
    const std::chrono::duration<double> spent =
        std::chrono::steady_clock::now() - begin;
    return spent.count() < arguments.seconds;
  };
  for (std::uint64_t number = 0; more(number); ++number) {
    Random random((arguments.seed << 40) + number);
    std::string bytes = make_input(number, random, small, large);
    Plan plan = plan_of(random());
    if (arguments.once) {
      const trace::LoadOptions options = plan.options;
      plan = Plan();
      plan.options = options;
    }
    check_input(std::move(bytes), plan, number, arguments, counts);
  }
}

void print(const Counts& counts, double seconds) {
  const auto number = [](std::uint64_t n) {
    return static_cast<unsigned long long>(n);
  };
  std::printf(
      "%llu inputs in %.1f s: %.0f /s; %llu loaded, %llu also with another "
      "window, %llu with threads, %llu with recover, %llu analyzed\n",
      number(counts.inputs), seconds, double(counts.inputs) / seconds,
      number(counts.loaded), number(counts.compared), number(counts.threaded),
      number(counts.recovered), number(counts.analyzed));
  for (const auto& [kind, times] : counts.refused) {
    std::printf("  refused as %-18s %10llu\n", kind.c_str(), number(times));
  }
  std::printf("digest %016llx\n", number(counts.digest));
}

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    const char* const value = argv[i + 1];
    if (name == "--seed") {
      arguments.seed = std::strtoull(value, nullptr, 10);
    } else if (name == "--count") {
      arguments.count = std::strtoull(value, nullptr, 10);
    } else if (name == "--once") {
      arguments.once = std::strcmp(value, "0") != 0;
    } else if (name == "--seconds") {
      arguments.seconds = std::strtod(value, nullptr);
    } else if (unsigned long long part, parts;
               name == "--prefixes" &&
               std::sscanf(value, "%llu/%llu", &part, &parts) == 2 && parts > 0) {
      arguments.part = part;
      arguments.parts = parts;
    } else {
      throw std::invalid_argument(name + " " + value);
    }
  }
  return arguments;
}

int run(const Arguments& arguments) {
  if (__sanitizer_set_death_callback != nullptr) {
    __sanitizer_set_death_callback(write_failure);
  }
  std::signal(SIGABRT, on_signal);
  std::signal(SIGALRM, on_signal);
  const auto begin = std::chrono::steady_clock::now();
  Counts counts;
  int failed = 0;
  try {
    if (arguments.parts > 0) run_prefixes(arguments, counts);
    run_mutations(arguments, counts);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "mutate: seed %llu: %s\n",
                 static_cast<unsigned long long>(arguments.seed), error.what());
    write_failure();
    failed = 1;
  }
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
  print(counts, spent.count());
  return failed;
}

}  // namespace
}  // namespace tta::robust

int main(int argc, char** argv) try {
  return tta::robust::run(tta::robust::parse(argc, argv));
} catch (const std::invalid_argument& error) {
  std::fprintf(stderr, "mutate: cannot read %s\n", error.what());
  return 2;
}

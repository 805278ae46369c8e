// SPDX-License-Identifier: BSD-3-Clause
// support/main.cpp: runs the tests; if one dies or hangs, says which, and where it
// stood.
//
// CTest sends SIGQUIT to a program that takes too long (cmake/part.cmake), and so does
// Ctrl-\ in a terminal.
#include <dlfcn.h>
#include <execinfo.h>
#include <gtest/gtest.h>
#include <link.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace {

// By addr2line, as the symbols of the tests are local: backtrace_symbols knows none.
void print_frame(const void* address) {
  Dl_info info;
  link_map* map = nullptr;
  void** const where = reinterpret_cast<void**>(&map);
  if (dladdr1(address, &info, where, RTLD_DL_LINKMAP) == 0) return;
  char offset[32];  // of the call, one before where it returns to
  std::snprintf(offset, sizeof offset, "%#zx",
                reinterpret_cast<std::uintptr_t>(address) - map->l_addr - 1);
  const pid_t child = fork();
  if (child == 0) {
    dup2(2, 1);
    execlp("addr2line", "addr2line", "-Cfpe", info.dli_fname, offset, nullptr);
    _exit(1);
  }
  int status = 1;
  if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0) {
    std::fprintf(stderr, "%s+%s\n", info.dli_fname, offset);
  }
}

void on_signal(int number) {
  std::signal(number, SIG_DFL);
  const auto* const test = testing::UnitTest::GetInstance()->current_test_info();
  std::fprintf(stderr, "\n%s in %s.%s; its stack, innermost first:\n",
               strsignal(number), test ? test->test_suite_name() : "no test",
               test ? test->name() : "");
  void* frames[64];
  const int count = backtrace(frames, 64);
  for (int i = 2; i < count; ++i) print_frame(frames[i]);  // this and the signal's
  std::raise(number);
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  void* first;
  backtrace(&first, 1);  // loads what it needs, which a handler could not
  for (const int number : {SIGQUIT, SIGABRT, SIGFPE}) std::signal(number, on_signal);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  for (const int number : {SIGSEGV, SIGBUS}) std::signal(number, on_signal);
#endif
  return RUN_ALL_TESTS();
}

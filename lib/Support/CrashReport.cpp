//===- CrashReport.cpp - What a tool says when it crashes -----------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM's handlers print the stack and remove temporary files. They are called from handlers of our own, because LLVM
// prints its own request for a bug report, as the first line, and does not say which signal it was.
//
//===----------------------------------------------------------------------===//

#include "gnnc/Support/CrashReport.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/PrettyStackTrace.h"
#include "llvm/Support/Signals.h"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <unistd.h>

using namespace gnnc;

namespace {

struct Signal {
  int number;
  const char *name;
};

constexpr Signal kCrashes[] = {
    {SIGSEGV, "segmentation fault"},  {SIGBUS, "bus error"}, {SIGILL, "illegal instruction"},
    {SIGFPE, "arithmetic exception"}, {SIGABRT, "abort"},    {SIGTRAP, "trap"},
    {SIGSYS, "bad system call"},
};
/// These end a process without anything being wrong with it.
constexpr int kRequests[] = {SIGQUIT, SIGXCPU};

/// A stack trace that takes longer is given up: a crash within malloc can leave it locked, and the trace allocates.
constexpr unsigned kTraceSeconds = 30;

constexpr size_t kStackBytes = 256 << 10;
/// Longer commands are cut.
constexpr size_t kMostCommand = 2000;

/// Texts for handlers, which must not allocate. Never freed: a crash may come after the end of main.
struct Report {
  std::string before; ///< up to what happened
  std::string after;
  std::string noMemory;
};
Report *report = nullptr;
/// What LLVM or the C++ library gave as the reason for ending; null: the signal says it.
const char *reason = nullptr;
std::atomic<pthread_t> reporter = {}; ///< the thread that crashed first
std::atomic<int> crash = 0;           ///< its signal
std::atomic<bool> said = false;       ///< the last line was printed, or is being printed

void print(llvm::StringRef text) {
  while (!text.empty()) {
    ssize_t count = write(STDERR_FILENO, text.data(), text.size());
    if (count <= 0)
      return;
    text = text.drop_front(size_t(count));
  }
}

void endBy(int number) {
  signal(number, SIG_DFL);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, number);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  raise(number);
}

void handle(int number, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  // Not blocked meanwhile: a crash within the handler is one, too.
  action.sa_flags = SA_ONSTACK | SA_NODEFER;
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, nullptr);
}

/// The last line, and the end by the first signal.
void endReport() {
  int number = crash;
  if (!said.exchange(true)) {
    llvm::sys::RunInterruptHandlers(); // Removes files.
    const Signal *found = llvm::find_if(kCrashes, [&](const Signal &each) { return each.number == number; });
    print(report->before);
    print(reason ? reason : found->name);
    print(report->after);
  }
  endBy(number);
}

void onCrash(int number) {
  pthread_t nobody = {};
  bool first = reporter.compare_exchange_strong(nobody, pthread_self());
  if (!first && !pthread_equal(nobody, pthread_self()))
    while (true) // The first one's report ends the process; threads with the same work often crash at the same time.
      pause();
  // A crash while the stack is printed ends that alone.
  if (first) {
    crash = number;
    handle(SIGALRM, [](int) { endReport(); });
    alarm(kTraceSeconds);
    llvm::sys::RunSignalHandlers();
  }
  endReport();
}

void onRequest(int number) {
  llvm::sys::RunInterruptHandlers();
  endBy(number);
}

/// A crash while another one's stack is printed does not change what is said of that.
[[noreturn]] void endBecauseOf(const char *text) {
  if (crash == 0)
    reason = text;
  abort();
}

[[noreturn]] void endWithoutMemory() {
  print(report->noMemory);
  llvm::sys::RunInterruptHandlers();
  _exit(1);
}

[[noreturn]] void onTerminate() {
  static char text[512];
  std::snprintf(text, sizeof text, "uncaught exception");
  try {
    if (std::exception_ptr current = std::current_exception())
      std::rethrow_exception(current);
    std::snprintf(text, sizeof text, "call of std::terminate");
  } catch (const std::bad_alloc &) {
    endWithoutMemory();
  } catch (const std::exception &exception) {
    std::snprintf(text, sizeof text, "uncaught exception: %s", exception.what());
  } catch (...) {
  }
  endBecauseOf(text);
}

void onFatalError(void *, const char *message, bool) {
  static char text[512];
  std::snprintf(text, sizeof text, "%s", message);
  for (char &c : text)
    if (c == '\n')
      c = ' ';
  endBecauseOf(text);
}

/// As a shell would be given it, on one line.
std::string quote(llvm::StringRef argument) {
  std::string plain;
  for (char c : argument)
    plain += llvm::isPrint(c) ? c : '?';
  bool safe = !plain.empty() && llvm::all_of(plain, [](char c) { return llvm::isAlnum(c) || strchr("-_=./,:@%+", c); });
  return safe ? plain : "'" + plain + "'";
}

} // namespace

void gnnc::installCrashReport(llvm::StringRef tool, llvm::StringRef version, int argc, const char *const *argv) {
  std::string command = tool.str();
  for (int i = 1; i < argc; ++i)
    command += " " + quote(argv[i]);
  if (command.size() > kMostCommand)
    command = command.substr(0, kMostCommand) + "...";
  report = new Report;
  report->before = tool.str() + ": error: this is a bug in gnnc (";
  report->after = "); please report it with the output above, the version '" + version.str() + "', the command '" +
                  command + "' and the files that it reads\n";
  report->noMemory = tool.str() + ": error: out of memory\n";

  // LLVM's own handlers are installed by the first thing that needs one; ours replace those that end in silence.
  llvm::setBugReportMsg("");
  llvm::EnablePrettyStackTrace();
  llvm::sys::PrintStackTraceOnErrorSignal(argc > 0 ? argv[0] : tool);
  for (const Signal &each : kCrashes)
    handle(each.number, onCrash);
  for (int number : kRequests)
    handle(number, onRequest);
  signal(SIGXFSZ, SIG_IGN); // write() gives EFBIG then.
  std::set_terminate(onTerminate);
  llvm::install_fatal_error_handler(onFatalError);
  llvm::install_bad_alloc_error_handler([](void *, const char *, bool) { endWithoutMemory(); });
}

CrashStack::CrashStack() {
  stack_t now;
  if (!report || sigaltstack(nullptr, &now) != 0 || !(now.ss_flags & SS_DISABLE))
    return;
  memory.reset(new char[kStackBytes]);
  stack_t own = {};
  own.ss_sp = memory.get();
  own.ss_size = kStackBytes;
  if (sigaltstack(&own, nullptr) != 0)
    memory.reset();
}

CrashStack::~CrashStack() {
  if (!memory)
    return;
  stack_t none = {};
  none.ss_flags = SS_DISABLE;
  sigaltstack(&none, nullptr);
}

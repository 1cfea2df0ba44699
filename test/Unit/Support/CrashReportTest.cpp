//===- CrashReportTest.cpp - What a tool says when it crashes -------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Support/CrashReport.h"
#include "gnnc/Support/OutputFile.h"

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <thread>

using namespace gnnc;

static void install() {
  const char *argv[] = {"/where/it/is/tool", "compile", "it's.gnn"};
  installCrashReport("tool", "gnnc 1.2", 3, argv);
}

/// Ends long after there is room for it. The result is used after the call, so that it is one.
static int recurse(int depth) {
  volatile char frame[4096];
  frame[depth % 4096] = char(depth);
  return depth < 0 ? 0 : recurse(depth + 1) + frame[(depth + 1) % 4096];
}

constexpr const char *kFault =
    "tool: error: this is a bug in gnnc \\(segmentation fault\\); please report it with the output above, the version "
    "'gnnc 1.2', the command 'tool compile .* and the files that it reads\n$";

class CrashReport : public testing::Test {
protected:
  CrashReport() { testing::FLAGS_gtest_death_test_style = "threadsafe"; }
};

TEST_F(CrashReport, IsTheLastLine) {
  EXPECT_EXIT((install(), raise(SIGSEGV)), testing::KilledBySignal(SIGSEGV), kFault);
  EXPECT_EXIT((install(), raise(SIGILL)), testing::KilledBySignal(SIGILL), "\\(illegal instruction\\); .*\n$");
}

TEST_F(CrashReport, OfAStackThatIsTooShort) {
  EXPECT_EXIT((install(), recurse(0)), testing::KilledBySignal(SIGSEGV), kFault);
  auto inThread = [] {
    install();
    std::thread([] {
      CrashStack stack;
      recurse(0);
    }).join();
  };
  EXPECT_EXIT(inThread(), testing::KilledBySignal(SIGSEGV), kFault);
}

TEST_F(CrashReport, GivesTheReason) {
  auto terminate = [] {
    install();
    std::thread([] { throw std::runtime_error("no way out"); }).join();
  };
  EXPECT_EXIT(terminate(), testing::KilledBySignal(SIGABRT), "a bug in gnnc \\(uncaught exception: no way out\\);");
  EXPECT_EXIT((install(), llvm::report_fatal_error("cannot\nselect")), testing::KilledBySignal(SIGABRT),
              "a bug in gnnc \\(cannot select\\);");
}

TEST_F(CrashReport, SurvivesACrashOfTheStackTrace) {
  auto crashTwice = [](int second) {
    install();
    llvm::sys::AddSignalHandler([](void *number) { raise(int(reinterpret_cast<intptr_t>(number))); },
                                reinterpret_cast<void *>(intptr_t(second)));
    raise(SIGSEGV);
  };
  for (int second : {SIGABRT, SIGSEGV})
    EXPECT_EXIT(crashTwice(second), testing::KilledBySignal(SIGSEGV), kFault);
  auto abortWithAReason = [] {
    install();
    llvm::sys::AddSignalHandler([](void *) { llvm::report_fatal_error("no symbols"); }, nullptr);
    raise(SIGSEGV);
  };
  EXPECT_EXIT(abortWithAReason(), testing::KilledBySignal(SIGSEGV), kFault);
}

/// As where the crash came within malloc.
TEST_F(CrashReport, SurvivesAStackTraceThatHangs) {
  auto hang = [] {
    install();
    llvm::sys::AddSignalHandler(
        [](void *) {
          alarm(1); // instead of the time that a trace may take
          while (true)
            pause();
        },
        nullptr);
    raise(SIGSEGV);
  };
  EXPECT_EXIT(hang(), testing::KilledBySignal(SIGSEGV), kFault);
}

TEST_F(CrashReport, LackOfMemoryIsNoBug) {
  auto exhaust = [] {
    install();
    std::thread([] { throw std::bad_alloc(); }).join();
  };
  EXPECT_EXIT(exhaust(), testing::ExitedWithCode(1), "^tool: error: out of memory\n$");
  EXPECT_EXIT((install(), llvm::report_bad_alloc_error("so much")), testing::ExitedWithCode(1),
              "^tool: error: out of memory\n$");
}

TEST_F(CrashReport, RemovesWhatIsHalfWritten) {
  std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "CrashReport";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  auto write = [&](int number) {
    install();
    llvm::cantFail(writeOutputFile((folder / "output").string(), [&](llvm::raw_ostream &out) {
      out << "half of it";
      raise(number);
    }));
  };
  for (int number : {SIGSEGV, SIGTERM, SIGINT, SIGQUIT})
    EXPECT_EXIT(write(number), testing::KilledBySignal(number), "");
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  std::filesystem::remove_all(folder);
}

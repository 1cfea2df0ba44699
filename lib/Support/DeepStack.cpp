//===- DeepStack.cpp - A stack of known size ------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM has such threads too (llvm::thread), but ends the process where none can be had.
//
//===----------------------------------------------------------------------===//

#include "gnnc/Support/DeepStack.h"
#include "gnnc/Support/CrashReport.h"

#include <pthread.h>

using namespace gnnc;

void gnnc::runOnDeepStack(llvm::function_ref<void()> work) {
  auto run = [](void *argument) -> void * {
    CrashStack crashes;
    (*static_cast<llvm::function_ref<void()> *>(argument))();
    return nullptr;
  };
  pthread_t thread;
  pthread_attr_t attributes;
  bool isStarted = false;
  if (pthread_attr_init(&attributes) == 0) {
    isStarted = pthread_attr_setstacksize(&attributes, kDeepStackBytes) == 0 &&
                pthread_create(&thread, &attributes, run, &work) == 0;
    pthread_attr_destroy(&attributes);
  }
  if (isStarted)
    pthread_join(thread, nullptr);
  else
    run(&work);
}

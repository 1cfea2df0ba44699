//===- gnnc-lsp-server.cpp - Language server for models and for IR --------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Speaks the language server protocol on standard input and output. By default it serves `.gnn` models; with `--mlir`
// as its first argument it is MLIR's own server with gnnc's dialects, for `.mlir` files.
//
//===----------------------------------------------------------------------===//

#include "Server.h"
#include "dialects/mpk/IR/MPK.h"
#include "gnnc/Support/CrashReport.h"
#include "gnnc/Support/Version.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/LSP/Logging.h"
#include "llvm/Support/Program.h"

namespace {

int serveMLIR(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry
      .insert<gnnc::mpdfg::MPDFGDialect, gnnc::mpk::MPKDialect, mlir::arith::ArithDialect, mlir::func::FuncDialect,
              mlir::LLVM::LLVMDialect, mlir::math::MathDialect, mlir::scf::SCFDialect, mlir::vector::VectorDialect>();
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}

int serveModels(int argc, char **argv) {
  llvm::cl::OptionCategory own("Options");
  llvm::cl::opt<bool> mlir("mlir", llvm::cl::cat(own), llvm::cl::desc("Serve .mlir files; must be the first argument"));
  llvm::cl::opt<bool> litTest("lit-test", llvm::cl::cat(own),
                              llvm::cl::desc("For tests: messages end with a line '// -----', replies are indented, "
                                             "and URIs may begin with test:"));
  llvm::cl::opt<bool> log("log", llvm::cl::cat(own), llvm::cl::desc("Write all messages to standard error"));
  llvm::cl::HideUnrelatedOptions(own); // LLVM's
  llvm::cl::ParseCommandLineOptions(argc, argv,
                                    "The language server of gnnc: models (.gnn), or with --mlir IR (.mlir)\n");
  if (mlir) {
    llvm::errs() << "gnnc-lsp-server: error: --mlir must be the first argument\n";
    return 2;
  }
  if (log)
    llvm::lsp::Logger::setLogLevel(llvm::lsp::Logger::Level::Debug);
  if (litTest)
    llvm::lsp::URIForFile::registerSupportedScheme("test");
  else
    llvm::sys::ChangeStdinToBinary();

  llvm::lsp::JSONTransport transport(
      stdin, llvm::outs(), litTest ? llvm::lsp::JSONStreamStyle::Delimited : llvm::lsp::JSONStreamStyle::Standard,
      /*PrettyOutput=*/litTest);
  llvm::lsp::MessageHandler messages(transport);
  gnnc::lsp::Server server(messages);
  if (llvm::Error error = transport.run(messages)) {
    llvm::lsp::Logger::error("Transport error: {0}", error);
    llvm::consumeError(std::move(error));
    return 1;
  }
  return server.wasShutDown() ? 0 : 1;
}

} // namespace

int main(int argc, char **argv) {
  gnnc::installCrashReport("gnnc-lsp-server", "gnnc " GNNC_VERSION ", LLVM " LLVM_VERSION_STRING, argc, argv);
  llvm::cl::SetVersionPrinter(
      [](llvm::raw_ostream &out) { out << "gnnc-lsp-server " GNNC_VERSION ", LLVM " LLVM_VERSION_STRING "\n"; });
  if (argc > 1 && llvm::StringRef(argv[1]) == "--mlir") {
    argv[1] = argv[0];
    return serveMLIR(argc - 1, argv + 1);
  }
  return serveModels(argc, argv);
}

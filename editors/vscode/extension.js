// Starts gnnc's language server for .gnn files. Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

"use strict";

const vscode = require("vscode");
const { findServer } = require("./server");

/** Packages that were made without npm lack the client: highlighting and snippets work without. */
function loadClient() {
  try {
    return require("vscode-languageclient/node").LanguageClient;
  } catch (error) {
    if (error.code === "MODULE_NOT_FOUND") {
      return undefined;
    }
    throw error;
  }
}

let client;
let channel;
/** One start or stop at a time, in order. */
let queue = Promise.resolve();

async function start() {
  const LanguageClient = loadClient();
  if (!LanguageClient) {
    channel.appendLine("This package of the extension has no language client: highlighting and snippets only.");
    return;
  }
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
  let command;
  try {
    command = findServer(vscode.workspace.getConfiguration("gnnc").get("server.path"), folder);
  } catch (error) {
    channel.appendLine(error.message);
    // Highlighting works without; the answer is not awaited, since the message may stay.
    vscode.window.showErrorMessage(`${error.message}. Build gnnc and set the path.`, "Open Settings").then((chosen) => {
      if (chosen) {
        vscode.commands.executeCommand("workbench.action.openSettings", "gnnc.server.path");
      }
    });
    return;
  }
  const documentSelector = [
    { scheme: "file", language: "gnn" },
    { scheme: "untitled", language: "gnn" },
  ];
  client = new LanguageClient("gnnc", "gnnc", { command }, { documentSelector, outputChannel: channel });
  await client.start();
}

async function stop() {
  const running = client;
  client = undefined;
  // A server that never started cannot be stopped.
  if (running?.needsStop()) {
    await running.stop();
  }
}

function enqueue(...steps) {
  for (const step of steps) {
    queue = queue.then(step).catch((error) => channel.appendLine(String(error)));
  }
  return queue;
}

function activate(context) {
  channel = vscode.window.createOutputChannel("gnnc");
  context.subscriptions.push(
    channel,
    vscode.commands.registerCommand("gnnc.restartServer", () => enqueue(stop, start)),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("gnnc.server.path")) {
        enqueue(stop, start);
      }
    }),
  );
  return enqueue(start);
}

function deactivate() {
  return enqueue(stop);
}

module.exports = { activate, deactivate };

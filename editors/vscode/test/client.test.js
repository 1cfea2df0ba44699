// The extension with the real vscode-languageclient and the real server; only `vscode` is a stand-in (vscode.js).
//   npm install && npm test        # the server: GNNC_LSP_SERVER, else build/bin/gnnc-lsp-server of the repository
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const Module = require("node:module");
const os = require("node:os");
const path = require("node:path");
const { after, before, test } = require("node:test");

const standIn = path.join(__dirname, "vscode.js");
const resolve = Module._resolveFilename;
Module._resolveFilename = (name, ...rest) => (name === "vscode" ? standIn : resolve(name, ...rest));

const vscode = require("vscode");
const extension = require("../extension");
const { findServer } = require("../server");
const { seen, events, workspace, tabs } = vscode.standIn;

const root = path.resolve(__dirname, "../../..");
const server = process.env.GNNC_LSP_SERVER ?? path.join(root, "build/bin/gnnc-lsp-server");
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "gnnc-"));
process.env.XDG_CACHE_HOME = folder; // where the server writes the standard library
const token = new vscode.CancellationTokenSource().token;
const context = { subscriptions: [] };

const text = `import std

layer Mix(x: node[in], out: int) -> node[out] {
  param W[in, out]
  let z = x @ W
  sum(z.src)
}

model M(in: int = 3, classes: int = 2) {
  input x: node[in]
  let h = GCN(x, out: 4)
  output y = Mix(h, out: classes)
}
`;

/** A document whose text a test sets. */
class Document {
  languageId = "gnn";
  version = 1;
  isClosed = false;
  constructor(name, content) {
    this.uri = vscode.Uri.file(path.join(folder, name));
    this.content = content;
    workspace.textDocuments.push(this);
    const tab = { input: new vscode.TabInputText(this.uri) };
    tabs.push(tab);
    events.DidChangeTabs.fire({ opened: [tab], closed: [], changed: [] });
    events.DidOpenTextDocument.fire(this);
  }
  getText() {
    return this.content;
  }
  change(content) {
    this.content = content;
    this.version += 1;
    events.DidChangeTextDocument.fire({ document: this, contentChanges: [{ text: content }] });
  }
  /** The position of the `at`th character of the first occurrence of `words`. */
  find(words, at = 0) {
    const before = this.content.slice(0, this.content.indexOf(words) + at).split("\n");
    return new vscode.Position(before.length - 1, before.at(-1).length);
  }
}

async function until(condition, what) {
  for (let turn = 0; turn < 200; ++turn) {
    const found = condition();
    if (found) {
      return found;
    }
    await new Promise((done) => setTimeout(done, 25));
  }
  assert.fail(`no ${what} within five seconds; output: ${seen.output.join("\n")}`);
}

const diagnosticsOf = (document) => seen.diagnostics.get(document.uri.toString());
let document;

before(async () => {
  seen.settings["gnnc.server.path"] = server;
  await extension.activate(context);
  assert.deepEqual(seen.messages, []);
  document = new Document("model.gnn", text);
});

after(async () => {
  await extension.deactivate();
  fs.rmSync(folder, { recursive: true });
});

test("a model without faults has no diagnostics, and a fault has one at its place", async () => {
  await until(() => diagnosticsOf(document)?.length === 0, "empty diagnostics");
  document.change(text.replace("sum(z.src)", "z * (x.src @ W)"));
  const [fault] = await until(() => diagnosticsOf(document)?.length && diagnosticsOf(document), "diagnostics");
  assert.match(fault.message, /operands reside on different spaces: node and edge/);
  assert.equal(fault.severity, vscode.DiagnosticSeverity.Error);
  assert.equal(fault.range.start.line, 5);
  document.change(text);
  await until(() => diagnosticsOf(document)?.length === 0, "empty diagnostics after the repair");
});

test("hover gives residency and shape", async () => {
  const hover = await seen.providers.hover.provideHover(document, document.find("let z", 4), token);
  assert.match(hover.contents[0].value, /let z: node\[out = 2\]/);
});

test("definition leads to a layer of the file, and into the standard library", async () => {
  const provide = (at) => seen.providers.definition.provideDefinition(document, at, token);
  const [own] = [await provide(document.find("Mix(h"))].flat();
  assert.equal(own.uri.toString(), document.uri.toString());
  assert.equal(own.range.start.line, 2);
  const [library] = [await provide(document.find("GCN(x"))].flat();
  const lines = fs.readFileSync(library.uri.fsPath, "utf8").split("\n");
  assert.match(lines[library.range.start.line], /^layer GCN\(/);
});

test("references are all places of a name", async () => {
  const found = await seen.providers.references.provideReferences(
    document, document.find("let z", 4), { includeDeclaration: true }, token);
  assert.deepEqual(found.map((each) => each.range.start.line).sort(), [4, 5]);
});

test("completion offers maps after a dot, and the arguments of a layer", async () => {
  const labels = async (content, at) => {
    document.change(content);
    const found = await seen.providers.completion.provideCompletionItems(document, at(), token, { triggerKind: 1 });
    return (found.items ?? found).map((each) => each.label);
  };
  const maps = await labels(text.replace("z.src", "z."), () => document.find("sum(z.", 6));
  assert.ok(maps.includes("src") && maps.includes("dst"), maps.join(" "));
  const names = await labels(text.replace("Mix(h, out: classes)", "Mix(h, )"), () => document.find("Mix(h, ", 7));
  assert.ok(names.includes("out:"), names.join(" "));
  document.change(text);
});

test("the command restarts the server", async () => {
  seen.diagnostics.clear();
  await seen.commands["gnnc.restartServer"]();
  await until(() => diagnosticsOf(document), "diagnostics of the new server");
});

test("a server that is missing gives one message that names the setting and the path", async () => {
  seen.settings["gnnc.server.path"] = path.join(folder, "none");
  events.DidChangeConfiguration.fire({ affectsConfiguration: (name) => name === "gnnc.server.path" });
  const [message] = await until(() => seen.messages.length && seen.messages, "message");
  const fault = `gnnc.server.path: expected a program, found none at '${folder}/none'`;
  assert.equal(message, `error: ${fault}. Build gnnc and set the path.`);
  assert.equal(seen.messages.length, 1);
});

test("the server is found by its name, in the workspace and at home", () => {
  const name = path.basename(server);
  const environment = { PATH: [folder, path.dirname(server)].join(path.delimiter) };
  assert.equal(findServer(name, undefined, environment), server);
  assert.equal(findServer("${workspaceFolder}/" + name, path.dirname(server)), server);
  assert.throws(() => findServer("${workspaceFolder}/x", undefined), /no folder is open/);
  assert.throws(() => findServer("gnnc-nothing", undefined, environment), /found no 'gnnc-nothing' in PATH/);
  assert.throws(() => findServer("", undefined, environment), /found no '' in PATH/);
});

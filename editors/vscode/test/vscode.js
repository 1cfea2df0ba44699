// A stand-in for the module `vscode`, as far as vscode-languageclient and the extension use it: documents that a test opens
// and changes, and the providers and diagnostics registered for them. Part of gnnc, under the Apache License v2.0 with LLVM
// Exceptions. See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

"use strict";

const { pathToFileURL, fileURLToPath } = require("url");

class Disposable {
  constructor(dispose) {
    this.dispose = dispose ?? (() => {});
  }
  static from(...all) {
    return new Disposable(() => all.forEach((each) => each.dispose()));
  }
}

class EventEmitter {
  #listeners = new Set();
  event = (listener, self) => {
    const bound = listener.bind(self);
    this.#listeners.add(bound);
    return new Disposable(() => this.#listeners.delete(bound));
  };
  fire(value) {
    for (const listener of this.#listeners) {
      listener(value);
    }
  }
  dispose() {
    this.#listeners.clear();
  }
}

class CancellationTokenSource {
  #cancelled = new EventEmitter();
  token = { isCancellationRequested: false, onCancellationRequested: this.#cancelled.event };
  cancel() {
    this.token.isCancellationRequested = true;
    this.#cancelled.fire();
  }
  dispose() {}
}

class Uri {
  constructor(text) {
    const url = new URL(text);
    this.scheme = url.protocol.slice(0, -1);
    this.path = decodeURIComponent(url.pathname);
    this.authority = url.host;
    this.query = this.fragment = "";
    this.text = text;
  }
  static parse = (text) => new Uri(text);
  static file = (path) => new Uri(pathToFileURL(path).href);
  get fsPath() {
    return fileURLToPath(this.text);
  }
  toString() {
    return this.text;
  }
}

class Position {
  constructor(line, character) {
    Object.assign(this, { line, character });
  }
}

class Range {
  constructor(start, end, ...rest) {
    const [from, to] = rest.length ? [new Position(start, end), new Position(...rest)] : [start, end];
    Object.assign(this, { start: from, end: to });
  }
}

class Location {
  constructor(uri, range) {
    Object.assign(this, { uri, range });
  }
}

class Diagnostic {
  constructor(range, message, severity) {
    Object.assign(this, { range, message, severity });
  }
}

class DiagnosticRelatedInformation {
  constructor(location, message) {
    Object.assign(this, { location, message });
  }
}

class CompletionItem {
  constructor(label, kind) {
    Object.assign(this, { label, kind });
  }
}

class CompletionList {
  constructor(items, isIncomplete) {
    Object.assign(this, { items, isIncomplete });
  }
}

class Hover {
  constructor(contents, range) {
    Object.assign(this, { contents: [contents].flat(), range });
  }
}

class MarkdownString {
  constructor(value = "") {
    this.value = value;
  }
  appendCodeblock(code, language = "") {
    this.value += `\n\`\`\`${language}\n${code}\n\`\`\`\n`;
    return this;
  }
  appendMarkdown(text) {
    this.value += text;
    return this;
  }
}

/** A tab of an editor of text: only documents in tabs are sent to a server that starts. */
class TabInputText {
  constructor(uri) {
    this.uri = uri;
  }
}

/** The state that tests read. */
const seen = { providers: {}, diagnostics: new Map(), commands: {}, messages: [], output: [], settings: {} };
const events = { DidChangeTabs: new EventEmitter() };
const tabs = [];
for (const name of ["DidOpenTextDocument", "DidChangeTextDocument", "DidCloseTextDocument", "DidChangeConfiguration"]) {
  events[name] = new EventEmitter();
}
const never = () => new Disposable();

const channel = {
  appendLine: (line) => seen.output.push(line),
  append: (text) => seen.output.push(text),
  onDidChangeLogLevel: never,
  logLevel: 0,
  show() {},
  dispose() {},
};
for (const level of ["trace", "debug", "info", "warn", "error"]) {
  channel[level] = channel.appendLine;
}

function message(kind) {
  return async (text) => {
    seen.messages.push(`${kind}: ${text}`);
  };
}

function register(kind) {
  return (selector, provider) => {
    seen.providers[kind] = provider;
    return new Disposable(() => delete seen.providers[kind]);
  };
}

/** Names that the client asks for and no test reaches: events that never come, and classes that it extends. */
function withRest(known) {
  const rest = {};
  return new Proxy(known, {
    get(target, name) {
      if (name in target || typeof name !== "string" || name === "then") {
        return target[name];
      }
      if (/^on(Did|Will)/.test(name)) {
        return never;
      }
      return /^[A-Z]/.test(name) ? (rest[name] ??= class {}) : undefined;
    },
  });
}

const workspace = {
  textDocuments: [],
  notebookDocuments: [],
  workspaceFolders: undefined,
  getConfiguration: (section) => ({
    get: (name, fallback) => seen.settings[section ? `${section}.${name}` : name] ?? fallback,
  }),
  getWorkspaceFolder: () => undefined,
  createFileSystemWatcher: () => ({ onDidCreate: never, onDidChange: never, onDidDelete: never, dispose() {} }),
};
for (const [name, emitter] of Object.entries(events).filter(([name]) => name !== "DidChangeTabs")) {
  workspace[`on${name}`] = emitter.event;
}

module.exports = withRest({
  __esModule: true, // the client uses this object itself, not a copy of its properties
  version: "1.106.0",
  Disposable,
  EventEmitter,
  CancellationTokenSource,
  CancellationError: class CancellationError extends Error {},
  Uri,
  Position,
  Range,
  Location,
  Diagnostic,
  DiagnosticRelatedInformation,
  DiagnosticSeverity: { Error: 0, Warning: 1, Information: 2, Hint: 3 },
  TabInputText,
  CompletionItem,
  CompletionList,
  CompletionItemKind: { Text: 0 },
  CompletionTriggerKind: { Invoke: 0, TriggerCharacter: 1, TriggerForIncompleteCompletions: 2 },
  CodeActionKind: new Proxy({}, { get: (_, name) => ({ value: String(name) }) }),
  Hover,
  MarkdownString,
  FoldingRangeKind: { Comment: 1, Imports: 2, Region: 3 },
  SymbolKind: { TypeParameter: 25, Property: 6 },
  TextDocumentSaveReason: { Manual: 1, AfterDelay: 2, FocusOut: 3 },
  env: { appName: "stand-in", language: "en" },
  l10n: { t: (text) => text },
  workspace: withRest(workspace),
  window: withRest({
    visibleTextEditors: [],
    tabGroups: { all: [{ tabs }], onDidChangeTabs: events.DidChangeTabs.event, onDidChangeTabGroups: never },
    createOutputChannel: () => channel,
    showErrorMessage: message("error"),
    showWarningMessage: message("warning"),
    showInformationMessage: message("information"),
  }),
  commands: {
    registerCommand(name, action) {
      seen.commands[name] = action;
      return new Disposable(() => delete seen.commands[name]);
    },
  },
  languages: withRest({
    match: (selector, document) =>
      [selector].flat().some((one) => one.language === document.languageId && one.scheme === document.uri.scheme) ? 10 : 0,
    createDiagnosticCollection: () => ({
      set: (uri, list) => seen.diagnostics.set(uri.toString(), list ?? []),
      delete: (uri) => seen.diagnostics.delete(uri.toString()),
      clear: () => seen.diagnostics.clear(),
      dispose() {},
    }),
    registerHoverProvider: register("hover"),
    registerDefinitionProvider: register("definition"),
    registerReferenceProvider: register("references"),
    registerCompletionItemProvider: register("completion"),
  }),
  standIn: { seen, events, workspace, tabs },
});

// Finds the language server. Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

"use strict";

const fs = require("fs");
const os = require("os");
const path = require("path");

function isProgram(file) {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}

/** The path of the program that a setting names; throws where there is none. */
function findServer(setting, workspaceFolder, environment = process.env) {
  let name = setting.trim().replace(/^~(?=[/\\]|$)/, os.homedir());
  if (name.includes("${workspaceFolder}")) {
    if (!workspaceFolder) {
      throw new Error(`gnnc.server.path is '${setting}', but no folder is open`);
    }
    name = name.replaceAll("${workspaceFolder}", workspaceFolder);
  }
  const ending = process.platform === "win32" && !path.extname(name) ? ".exe" : "";
  if (/[/\\]/.test(name)) {
    const file = path.resolve(workspaceFolder || "", name + ending);
    if (isProgram(file)) {
      return file;
    }
    throw new Error(`gnnc.server.path: expected a program, found none at '${file}'`);
  }
  for (const folder of (environment.PATH || "").split(path.delimiter).filter(Boolean)) {
    const file = path.join(folder, name + ending);
    if (name && isProgram(file)) {
      return file;
    }
  }
  throw new Error(`gnnc.server.path: expected a program, found no '${name}' in PATH`);
}

module.exports = { findServer };

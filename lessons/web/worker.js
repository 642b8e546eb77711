// A lesson in a worker of its own, in a browser or in Node: run_lesson.mjs starts it.
//
// It waits for one message, {script, module, options, files}: where the lesson's lesson.js is, its command line, {steps: 300,
// smoke: true} for "--steps 300 --smoke", and files that it finds, {'/out/small/checkpoint.safetensors': bytes}. `module`
// is a compiled WebAssembly.Module in place of lesson.wasm: a lesson that a reader has changed. What it posts:
//
//     {type: 'text', stream: 'out' or 'err', line}                 as the lesson prints them
//     {type: 'progress', done, total, loss, speed, unit}           ten times a second at most
//     {type: 'figure', what, value, unit, target, verdict}         target and verdict are '' where there is none
//     {type: 'picture', name, svg}                                 when the file was written, each time
//     {type: 'map', name, map}                                     before it, where it is a heatmap: names and values
//     {type: 'written', text, kept, room}                          characters of a language model, as it chooses them
//     {type: 'end', code}                                          0: all targets met; as on a command line
//     {type: 'failure', message, plain}                            the module could not be loaded, or died; plain: a sentence
'use strict';

const inNode = typeof process === 'object' && typeof importScripts === 'undefined';
const port = inNode ? require('worker_threads').parentPort : self;
const post = (message) => port.postMessage(message);
const MOST_LINES = 4000, MOST_CHARACTERS = 200_000;  // that a changed lesson may print

function commandLine(options) {
  const words = [];
  for (const [name, value] of Object.entries(options)) {
    if (value === false) continue;
    words.push('--' + name);
    if (value !== true) words.push(String(value));
  }
  return words;
}

/// Posts pictures that are new, or not what they were.
function pictures(FS, folder, seen) {
  if (!FS.analyzePath(folder).exists) return;
  for (const name of FS.readdir(folder)) {
    const path = folder + '/' + name;
    if (name.startsWith('.')) continue;
    const {mode, mtime, size} = FS.stat(path);
    if (FS.isDir(mode)) {
      pictures(FS, path, seen);
    } else if (name.endsWith('.svg')) {
      const state = size + ' ' + mtime.getTime() + ' ' + FS.lookupPath(path).node.id;
      if (seen.get(path) === state) continue;
      seen.set(path, state);
      post({type: 'picture', name: path.slice('/out/'.length), svg: FS.readFile(path, {encoding: 'utf8'})});
    }
  }
}

function place(FS, files) {
  for (const [path, bytes] of Object.entries(files)) {
    FS.mkdirTree(path.slice(0, path.lastIndexOf('/')));
    FS.writeFile(path, bytes);
  }
}

/// Returns what the script asks for: an instance of the changed lesson. Clang 22 calls main() __main_argc_argv.
function instantiated(program, imports, receive) {
  WebAssembly.instantiate(program, imports).then(
      (instance) => receive({exports: {...instance.exports, main: instance.exports.main ?? instance.exports.__main_argc_argv}}),
      fail);
  return {};
}

/// Counts what a changed lesson prints, and ends it when that is too much for a page.
function limited(print) {
  let lines = 0, characters = 0, over = false;
  return (stream) => (text) => {
    if (over) return;
    over = ++lines > MOST_LINES || (characters += text.length) > MOST_CHARACTERS;
    if (!over) return print(stream)(text);
    post({type: 'failure', plain: true, message: 'The lesson printed more than 4,000 lines or 200,000 characters, so it was stopped.'});
  };
}

async function run({script, module: program, options = {}, files = {}}) {
  let lesson;
  if (inNode) {
    lesson = require(script);
  } else {
    importScripts(script);
    lesson = self.lesson;
  }
  const beside = (name) => script.slice(0, script.lastIndexOf('/') + 1) + name;
  const seen = new Map();
  let module = null;
  const line = (stream) => (text) => {
    post({type: 'text', stream, line: text});
    if (module) pictures(module.FS, '/out', seen);
  };
  const told = program ? limited(line) : line;
  let code = 0;
  module = await lesson({
    noInitialRun: true,
    locateFile: beside,
    ...(program ? {instantiateWasm: (imports, receive) => instantiated(program, imports, receive)} : {}),
    // Node's fetch() reads no files.
    wasmBinary: inNode && !program ? require('fs').readFileSync(beside('lesson.wasm')) : undefined,
    print: told('out'),
    printErr: told('err'),
    onProgress: (state) => post({type: 'progress', ...state}),
    onFigure: (figure) => post({type: 'figure', ...figure}),
    onMap: (map) => post({type: 'map', ...map}),
    onWritten: (written) => post({type: 'written', ...written}),
    onExit: (status) => { code = status; },
    quit: (status, reason) => {
      code = status;
      if (reason && reason.name !== 'ExitStatus') throw reason;  // a trap
    },
    preRun: [(m) => { m.ENV.TERM = 'dumb'; }],  // lines, not a bar that is redrawn
  });
  place(module.FS, files);
  const status = module.callMain([...commandLine(options), '--out', '/out']);
  if (typeof status === 'number' && status !== 0) code = status;
  pictures(module.FS, '/out', seen);
  post({type: 'end', code});
}

function fail(error) {
  const thrown = WebAssembly.Exception && error instanceof WebAssembly.Exception;
  post({type: 'failure', message: thrown ? 'uncaught exception' : String(error && error.message || error)});
}
const start = (message) => run(message).catch(fail);
if (inNode)
  port.once('message', start);
else
  self.onmessage = (event) => start(event.data);

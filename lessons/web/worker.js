// A lesson in a worker of its own, in a browser or in Node: run_lesson.mjs starts it.
//
// It waits for one message, {script, options, files}: where the lesson's lesson.js is, its command line, {steps: 300,
// smoke: true} for "--steps 300 --smoke", and files that it finds, {'/out/small/checkpoint.safetensors': bytes}. What
// it posts:
//
//     {type: 'text', stream: 'out' or 'err', line}                 as the lesson prints them
//     {type: 'progress', done, total, loss, speed, unit}           ten times a second at most
//     {type: 'figure', what, value, unit, target, verdict}         target and verdict are '' where there is none
//     {type: 'picture', name, svg}                                 when the file was written, each time
//     {type: 'map', name, map}                                     before it, where it is a heatmap: names and values
//     {type: 'written', text, kept, room}                          characters of a language model, as it chooses them
//     {type: 'end', code}                                          0: all targets met; as on a command line
//     {type: 'failure', message}                                   the module could not be loaded, or died
'use strict';

const inNode = typeof process === 'object' && typeof importScripts === 'undefined';
const port = inNode ? require('worker_threads').parentPort : self;
const post = (message) => port.postMessage(message);

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

async function run({script, options = {}, files = {}}) {
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
  let code = 0;
  module = await lesson({
    noInitialRun: true,
    locateFile: beside,
    // Node's fetch() reads no files.
    wasmBinary: inNode ? require('fs').readFileSync(beside('lesson.wasm')) : undefined,
    print: line('out'),
    printErr: line('err'),
    onProgress: (state) => post({type: 'progress', ...state}),
    onFigure: (figure) => post({type: 'figure', ...figure}),
    onMap: (map) => post({type: 'map', ...map}),
    onWritten: (written) => post({type: 'written', ...written}),
    onExit: (status) => { code = status; },
    quit: (status) => { code = status; },
    preRun: [(m) => { m.ENV.TERM = 'dumb'; }],  // lines, not a bar that is redrawn
  });
  place(module.FS, files);
  const status = module.callMain([...commandLine(options), '--out', '/out']);
  if (typeof status === 'number' && status !== 0) code = status;
  pictures(module.FS, '/out', seen);
  post({type: 'end', code});
}

const start = (message) =>
    run(message).catch((error) => post({type: 'failure', message: String(error && error.message || error)}));
if (inNode)
  port.once('message', start);
else
  self.onmessage = (event) => start(event.data);

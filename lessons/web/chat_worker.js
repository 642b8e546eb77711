// The chat of lesson 38 in a worker. It loads the program (lessons/38_chat/page/chat_page.cpp) and a GGUF file, and lets
// the model answer. It takes these messages, one after the other:
//
//     {type: 'open', script, file, name}     script: URL of chat.js; file: a Blob, which is read here and sent nowhere
//     {type: 'say', id, text, options}       options: {temperature, 'top-k', 'top-p', seed, max}
//     {type: 'reset'}                        ends the answer, and starts a new conversation
//     {type: 'stop'}                         ends the answer
//
// and posts these; `id` is that of the message that is answered:
//
//     {type: 'loading', done, total}         bytes of the file
//     {type: 'ready', context}               largest number of tokens in the cache
//     {type: 'text', id, text}               the next characters of the answer
//     {type: 'note', id, text}               a sentence of the program about the answer
//     {type: 'speed', id, tokens, speed}     tokens of the answer so far, and tokens per second after the first one
//     {type: 'refused', id, text}            an error of the program: the file, or the answer
//     {type: 'end', id, length}              the answer is complete; tokens in the cache
//     {type: 'failure', text}                the program could not be loaded, or died
'use strict';

const PART = 8 << 20;  // bytes of the file that are read at a time
let module = null, answering = null, used = '', work = Promise.resolve();
const post = (message) => self.postMessage(message);

/// Lets the worker receive messages. setTimeout() would wait for 4 ms.
const channel = new MessageChannel();
const receive = () => new Promise((resolve) => {
  channel.port1.onmessage = resolve;
  channel.port2.postMessage(0);
});

/// Passes bytes to the next call, and returns their number.
function given(bytes) {
  module.bytes = bytes;
  return bytes.length;
}
const text = (string) => given(new TextEncoder().encode(string));

async function open({script, file, name}) {
  importScripts(script);
  const folder = script.slice(0, script.lastIndexOf('/') + 1);
  module = await self.chat({
    locateFile: (part) => folder + part,
    tell: (type, said) => post({type, id: answering && answering.id, text: said}),
  });
  if (!module._chat_reserve(file.size)) return;
  for (let at = 0; at < file.size; at += PART) {
    post({type: 'loading', done: at, total: file.size});
    module._chat_append(given(new Uint8Array(await file.slice(at, at + PART).arrayBuffer())));
  }
  if (module._chat_open(text(name))) post({type: 'ready', context: module._chat_context()});
}

async function say({id, text: message, options}) {
  const mine = answering = {id, stopped: false};
  const numbers = ['temperature', 'top-k', 'top-p', 'seed', 'max'].map((name) => Number(options[name]));
  let goes = used === String(numbers) || module._chat_change(...numbers);
  used = String(numbers);
  goes = goes && module._chat_say(text(message));
  for (let tokens = 1, first = 0; goes; ++tokens) {
    goes = module._chat_step();
    if (tokens === 1) first = performance.now();
    post({type: 'speed', id, tokens, speed: tokens > 1 ? 1000 * (tokens - 1) / (performance.now() - first) : 0});
    if (goes) await receive();
    if (mine.stopped) module._chat_stop();
  }
  post({type: 'end', id, length: module._chat_length()});
  answering = null;
}

const reset = () => module._chat_reset();

self.onmessage = ({data}) => {
  if ((data.type === 'stop' || data.type === 'reset') && answering) answering.stopped = true;
  const task = {open, say, reset}[data.type];
  if (task) work = work.then(() => task(data)).catch((error) => post({type: 'failure', text: String(error && error.message || error)}));
};

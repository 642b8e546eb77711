// Compiles a lesson that a reader has changed and links it with the lesson's other objects and the libraries. For a page's
// worker and for Node.

/// What page_grader's `verdict` takes in place of an exercise, for an outcome of a changed lesson.
export const LESSON = {piece: '', judge: '', judge_line: 0, source: 'lesson.cpp', limit: 1};

/// Returns the names of a module's imports that change.js does not provide.
function missing(module, provided) {
  return WebAssembly.Module.imports(module).map(({name}) => name).filter((name) => !provided.includes(name));
}

async function linked(toolchain, link, objects, files) {
  const made = await toolchain.tool(['wasm-ld', '-o', '-', ...objects, ...link], files);
  return made.ok ? {module: await WebAssembly.compile(made.bytes)} : {output: made.output};
}

/// Returns the files that the compiler takes. Its messages give the lesson's lines as those of /answer.cpp.
export function textsOf(lesson, source) {
  return {...lesson.headers, 'judged.cpp': `#line 1 "/answer.cpp"\n${source}`};
}

/// Links a lesson's object. `lesson` is change/NN.json, and `base` the object of its other parts, which need no library as
/// long as the reader's change calls no further function. Returns {module}, or {output} with the linker's messages.
export async function linkLesson(toolchain, lesson, object, base) {
  const files = {'answer.o': object, 'base.o': base};
  const first = await linked(toolchain, lesson.link, ['answer.o', 'base.o'], files);
  if (first.module && !missing(first.module, lesson.provided).length) return first;
  const whole = await linked(toolchain, lesson.link, ['answer.o', 'base.o', ...lesson.libraries], {...files, ...await toolchain.libraries()});
  const [name] = whole.module ? missing(whole.module, lesson.provided) : [];
  if (!name) return whole;
  const {bytes} = await toolchain.tool(['c++filt', name], {});
  return {output: `wasm-ld: error: answer.o: undefined symbol: ${new TextDecoder().decode(bytes).trim()}\n`};
}

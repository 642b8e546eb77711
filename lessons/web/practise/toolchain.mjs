// Compiles and links an answer with Clang and LLD, which are WebAssembly themselves. For a page's worker and for Node.
import {collected} from './bytes.mjs';
import {provides} from './host.mjs';

/// Returns {'a/b.hpp': text} as the nested folders that the tools' file system takes.
function folders(files) {
  const root = {};
  for (const [path, content] of Object.entries(files)) {
    const names = path.split('/');
    const folder = names.slice(0, -1).reduce((at, name) => (at[name] ??= {}), root);
    folder[names.at(-1)] = content;
  }
  return root;
}

export class Toolchain {
  /// `runLLVM` is the package's function; `commands` are those of manifest.json; `file(name)` returns a promise of the
  /// bytes of answer.pch or base.o, and `libraries()` of {name: bytes}, which only few answers need.
  constructor({runLLVM, commands, file, libraries}) {
    Object.assign(this, {runLLVM, commands, file, libraries});
  }

  /// Runs one of LLVM's tools on files. Returns {ok, bytes, output}: what it wrote to its standard output and to its
  /// standard error. Object files go to standard output, since the package's files grow slowly.
  async tool(words, files) {
    const out = collected(), err = collected();
    const sink = (stream) => (bytes) => { if (bytes) stream.add(bytes); };
    let ok = true;
    try {
      await this.runLLVM(words, files, {stdout: sink(out), stderr: sink(err), decodeASCII: false});
    } catch (error) {
      if (error.code === undefined) throw error; // not the tool's exit code: the tool itself failed
      ok = false;
    }
    return {ok, bytes: out.bytes(), output: err.text()};
  }

  /// Compiles the files of page_grader's `texts`. Returns {object} or {output}, the compiler's messages.
  async compile(texts, fast) {
    const files = {answer: folders(texts), 'answer.pch': await this.file('answer.pch')};
    const made = await this.tool(fast ? this.commands.fast : this.commands.checked, files);
    return made.ok ? {object: made.bytes} : {output: made.output};
  }

  /// Links an object with the judge and the library. Returns {module}, or {output} with the linker's messages. base.o has
  /// what the solutions of all exercises need, so that most answers need no library.
  async link(object) {
    const first = await this.linked(['base.o', 'answer.o'], {'base.o': await this.file('base.o'), 'answer.o': object});
    if (first.module && !first.missing.length) return first;
    const libraries = await this.libraries();
    const whole = await this.linked([this.commands.crt, 'answer.o', ...this.commands.libraries], {...libraries, 'answer.o': object});
    if (!whole.missing?.length) return whole;
    const {bytes} = await this.tool(['c++filt', whole.missing[0]], {});
    return {output: `wasm-ld: error: answer.o: undefined symbol: ${new TextDecoder().decode(bytes).trim()}\n`};
  }

  async linked(objects, files) {
    const made = await this.tool(['wasm-ld', '-o', '-', ...objects, ...this.commands.link], files);
    if (!made.ok) return {output: made.output};
    const module = await WebAssembly.compile(made.bytes);
    const missing = WebAssembly.Module.imports(module).filter((wanted) => !provides(wanted)).map(({name}) => name);
    return {module, missing};
  }
}

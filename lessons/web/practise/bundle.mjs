// usage: node bundle.mjs MODULES OUT
//
// Bundles the scripts of the exercises' pages: OUT/practise.js and OUT/change.js for a lesson, OUT/progress.js for the front
// page, and the chunks that they load later. MODULES is the folder with the installed packages of package.json (or its node_modules).
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));

/// Runs esbuild with these options, and returns the names of the files that it writes.
async function built(modules, out, options) {
  const inside = join(resolve(modules), "node_modules");
  const packages = existsSync(inside) ? inside : resolve(modules);
  const esbuild = createRequire(join(packages, "bundle.cjs"))("esbuild");
  const result = await esbuild.build({
    outdir: resolve(out),
    nodePaths: [packages],
    bundle: true,
    format: "esm",
    target: "es2022",
    minify: true,
    legalComments: "none",  // the page guide/licences has the licences
    metafile: true,
    logLevel: "warning",
    ...options,
  });
  return Object.keys(result.metafile.outputs);
}

/// Writes the scripts of the pages, and returns the names of their files.
export function bundle(modules, out) {
  return built(modules, out, {
    entryPoints: ["practise.mjs", "progress.mjs", "change.mjs"].map((name) => join(here, name)),
    external: ["./checker.mjs"],  // a file of its own in OUT, loaded at the first check
    chunkNames: "chunk-[name]-[hash]",
    splitting: true,
  });
}

/// Writes checker.mjs and its two workers.
export async function bundleChecker(modules, out) {
  return [...await built(modules, out, { entryPoints: [join(here, "checker.mjs")], outExtension: { ".js": ".mjs" } }),
          ...await built(modules, out, { entryPoints: ["compile_worker.mjs", "judge_worker.mjs"].map((name) => join(here, name)) })];
}

if (process.argv[1] && resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const [modules, out] = process.argv.slice(2);
  if (!out) {
    console.error("bundle.mjs: needs MODULES and OUT");
    process.exit(2);
  }
  await bundle(modules, out);
}

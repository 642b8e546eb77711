// usage: node bundle.mjs MODULES OUT
//
// Bundles the scripts of the exercises' pages: OUT/practise.js for a lesson, OUT/progress.js for the front page, and the
// chunks that they load later. MODULES is the folder with the installed packages of package.json (or its node_modules).
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));

/// Writes the bundle, and returns the names of its files.
export async function bundle(modules, out) {
  const inside = join(resolve(modules), "node_modules");
  const packages = existsSync(inside) ? inside : resolve(modules);
  const esbuild = createRequire(join(packages, "bundle.cjs"))("esbuild");
  const result = await esbuild.build({
    entryPoints: [join(here, "practise.mjs"), join(here, "progress.mjs")],
    outdir: resolve(out),
    nodePaths: [packages],
    external: ["./checker.mjs"],  // a file of its own in OUT, loaded at the first check
    chunkNames: "chunk-[name]-[hash]",
    bundle: true,
    splitting: true,
    format: "esm",
    target: "es2022",
    minify: true,
    legalComments: "none",  // the page guide/licences has the licences
    metafile: true,
    logLevel: "warning",
  });
  return Object.keys(result.metafile.outputs);
}

if (process.argv[1] && resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const [modules, out] = process.argv.slice(2);
  if (!out) {
    console.error("bundle.mjs: needs MODULES and OUT");
    process.exit(2);
  }
  await bundle(modules, out);
}

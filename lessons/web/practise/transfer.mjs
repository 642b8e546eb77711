// Answers as files: the ones that lessons/practise writes in the project's folder (see lessons/grader/answer_store.cpp),
// in a zip. Unzip it there to go on in the terminal.
import { strFromU8, strToU8, unzipSync, zipSync } from "fflate";

import { byId, keepEarlier, mergeProgress, today } from "./answers.mjs";

const ANSWER = /(?:^|\/)(\d\d)_\w+\/(\d+)_(\w+?)(?:\.(\d{4}-\d\d-\d\d_[\d._]+?))?\.cpp$/;
const HEAD = /^\/\/ (\d+\.\d+) \w+: /;

/// Returns the files as {path: text}. Pieces of the engine get their headers, as after a success in the terminal.
export async function filesOf(answers) {
  const files = {}, records = await answers.all(), progress = { current: await answers.current(), exercises: {} };
  for (const record of [...records].sort((a, b) => (a.id < b.id ? -1 : 1))) {
    const { id, tries, hints, solved, solution_shown, best } = record;
    if (tries || hints || solved || solution_shown)
      progress.exercises[id] = { tries, hints, solved, solution_shown, ...(best === null ? {} : { best }) };
  }
  for (const record of records.filter(({ path }) => path)) {
    if (record.text !== null) files[record.path] = record.text;
    const taken = new Map();
    for (const { text, date } of record.earlier) {
      taken.set(date, (taken.get(date) ?? 0) + 1);
      files[record.path.replace(/\.cpp$/, `.${date}${taken.get(date) > 1 ? `_${taken.get(date)}` : ""}.cpp`)] = text;
    }
    if (record.given) files[record.path.replace("practise/", "practise/.state/given/")] = record.given;
  }
  const pieces = records.filter(({ piece, passed }) => piece && passed);
  for (const { piece, passed } of pieces)
    for (const folder of ["practise/engine", "practise/.state/engine"]) files[`${folder}/${piece}`] = `#pragma once\n${passed}`;
  if (pieces.length) {
    const whole = "// Your engine: the pieces that you have written.\n#pragma once\n\n" + pieces.map(({ piece }) => `#include "engine/${piece}"\n`).join("");
    for (const folder of ["practise", "practise/.state"]) files[`${folder}/engine.hpp`] = whole;
  }
  files["practise/.state/progress.json"] = JSON.stringify(progress, null, 1) + "\n";
  return files;
}

/// Returns the zip as bytes.
export async function exported(answers) {
  const files = await filesOf(answers);
  return zipSync(Object.fromEntries(Object.entries(files).map(([path, text]) => [path, strToU8(text)])), { level: 6 });
}

/// Reads files that the learner chose: [{name, bytes}], zips or single .cpp files. Returns {path or name: text}.
function unpacked(chosen) {
  const found = {};
  for (const { name, bytes } of chosen) {
    if (name.endsWith(".zip")) {
      let inside;
      try {
        inside = unzipSync(bytes, { filter: (file) => /\.(cpp|hpp|json)$/.test(file.name) && file.originalSize < 4e6 });
      } catch {
        throw new Error(`${name} is not a zip file, or it is damaged.`);
      }
      for (const [path, data] of Object.entries(inside)) found[path] = strFromU8(data);
    } else if (name.endsWith(".cpp")) {
      found[name] = strFromU8(bytes);
    } else {
      throw new Error(`${name} must be a .zip file or a .cpp file.`);
    }
  }
  return found;
}

function progressOf(files) {
  const [, text] = Object.entries(files).find(([path]) => path.endsWith(".state/progress.json")) ?? [];
  if (!text) return {};
  try {
    return JSON.parse(text).exercises ?? {};
  } catch {
    throw new Error("practise/.state/progress.json is damaged, so nothing was imported.");
  }
}

/// Returns the imported texts of each exercise: {id: {text, earlier: [{text, date}]}}, and the names of other files.
function textsOf(files) {
  const texts = {}, unknown = [];
  for (const [path, text] of Object.entries(files)) {
    if (!path.endsWith(".cpp") || path.includes(".state/")) continue;
    const place = path.match(ANSWER), head = text.match(HEAD);
    const id = place ? `${Number(place[1])}.${place[2]}` : head ? head[1] : "";
    const one = id ? (texts[id] ??= { text: null, earlier: [] }) : unknown.push(path) && null;
    if (!one) continue;
    if (place?.[4]) one.earlier.push({ text, date: place[4] });
    else one.text = text;
  }
  return { texts, unknown };
}

/// Imports files. find(id) returns the exercise of the book or null. No text is deleted: one that is replaced becomes an
/// earlier text. Returns {count, unknown: names of files that belong to no exercise}. Throws Error for damaged files.
export async function imported(answers, chosen, find) {
  const files = unpacked(chosen), progress = progressOf(files), { texts, unknown } = textsOf(files);
  let count = 0;
  for (const id of [...new Set([...Object.keys(texts), ...Object.keys(progress)])].sort(byId)) {
    const exercise = await find(id), mine = texts[id];
    if (!exercise) {
      unknown.push(`exercise ${id}`);
      continue;
    }
    const { path, piece, given } = exercise;
    const header = Object.entries(files).find(([name]) => piece && name.endsWith(`practise/engine/${piece}`) && !name.includes(".state/"));
    await answers.change(id, (record) => {
      Object.assign(record, { path, piece, given });
      for (const { text, date } of mine?.earlier ?? []) keepEarlier(record, text, date);
      if (mine?.text != null && mine.text !== record.text) {
        keepEarlier(record, record.text, today(true));
        record.text = mine.text;
      }
      if (header && !record.passed) record.passed = header[1].replace(/^#pragma once\n/, "");
      mergeProgress(record, progress[id] ?? {});
    });
    count += mine ? 1 : 0;
  }
  return { count, unknown };
}

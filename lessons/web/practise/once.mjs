// What a page loads when the reader first asks for it.

/// Returns a function that calls load() once and returns its promise. After a failure, it calls load() again.
export function once(load) {
  let promise = null;
  return () => promise ??= load().catch((error) => {
    promise = null;
    throw error;
  });
}

/// Returns a function that returns a promise of the page's Checker, from the book's folder practise/ at `base`.
export const checkerAt = (base) => once(() => import(new URL("checker.mjs", base).href).then(({ Checker }) => new Checker(base.href)));

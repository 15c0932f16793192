/**
 * A built-in module of Node where there is one: in Node, in Deno and in some edge runtimes. Its
 * name is no literal in an import, so a bundler for browsers does not look for it.
 */
export async function nodeModule<Module>(name: `node:${string}`): Promise<Module | null> {
  try {
    return await import(/* webpackIgnore: true */ /* @vite-ignore */ name);
  } catch {
    return null;
  }
}

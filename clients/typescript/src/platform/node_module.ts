import { mayHaveNodeModules } from "./platform.ts";

/**
 * A built-in module of Node, or null where there is none. Its name is no literal in an import, so a
 * bundler for browsers does not look for it. A browser is not asked: it would log an error.
 */
export async function nodeModule<Module>(name: `node:${string}`): Promise<Module | null> {
  if (!mayHaveNodeModules) return null;
  try {
    return await import(/* webpackIgnore: true */ /* @vite-ignore */ name);
  } catch {
    return null;
  }
}

import { mayHaveNodeModules } from "./platform.ts";

/**
 * A built-in module of Node, or null on platforms without it. The name is not a literal, so that
 * bundlers for browsers do not look for the module. In browsers, the import is not tried, because
 * they would log an error.
 */
export async function nodeModule<Module>(
  name: `node:${string}`,
): Promise<Module | null> {
  if (!mayHaveNodeModules) return null;
  try {
    return await import(/* webpackIgnore: true */ /* @vite-ignore */ name);
  } catch {
    return null;
  }
}

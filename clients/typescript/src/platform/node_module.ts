import { mayHaveNodeModules } from "./platform.ts";

/**
 * A built-in module of Node, or null on platforms without it. The name is no literal, so bundlers
 * for browsers do not look for the module. Browsers are not asked: they would log an error.
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

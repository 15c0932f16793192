import { mayHaveNodeModules } from "./platform.ts";

interface NodeGlobals {
  readonly process?: { readonly getBuiltinModule?: (name: string) => unknown };
}

/**
 * A built-in module of Node, or null on platforms without it. There is no `import`: bundlers would
 * look for the module, and those of workers refuse a name that is computed.
 */
export function nodeModule<Module>(name: `node:${string}`): Promise<Module | null> {
  const { process } = globalThis as NodeGlobals;
  const found = mayHaveNodeModules ? process?.getBuiltinModule?.(name) : null;
  return Promise.resolve((found ?? null) as Module | null);
}

import assert from "node:assert/strict";
import { dirname, join, relative, resolve } from "node:path";
import { LOCKED } from "../../dev/pins/pins.ts";
import { PROJECT } from "../../packages/local/project.ts";

const FUNCTIONS = join(PROJECT, "supabase", "functions");

export const FUNCTION_NAMES = ["agent-artifacts", "agent-mesh"] as const;

interface Import {
  /** The path below `supabase/functions`. */
  readonly file: string;
  readonly specifier: string;
}

interface ModuleGraph {
  readonly modules: readonly {
    readonly local?: string;
    readonly dependencies?: readonly { readonly specifier: string }[];
  }[];
}

/** The modules that a function's deployment needs. */
export interface FunctionModules {
  /** Its own and the shared modules, as paths below the project's folder, sorted. */
  readonly files: readonly string[];
  /** All their imports, of any kind, except imports of such files. */
  readonly foreignImports: readonly Import[];
}

/** The modules that a function's index.ts reaches, also through type and dynamic imports. */
export async function readModules(name: string): Promise<FunctionModules> {
  const { code, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", ...LOCKED, join(FUNCTIONS, name, "index.ts")],
    cwd: PROJECT,
  }).output();
  assert.equal(code, 0, name);
  const { modules } = JSON.parse(new TextDecoder().decode(stdout)) as ModuleGraph;
  const own = modules.flatMap(({ local, dependencies = [] }) =>
    local?.startsWith(FUNCTIONS) ? [{ local, dependencies }] : []
  );
  return {
    files: own.map(({ local }) => relative(PROJECT, local)).sort(),
    foreignImports: own.flatMap(({ local, dependencies }) =>
      dependencies
        .map(({ specifier }) => ({ file: relative(FUNCTIONS, local), specifier }))
        .filter(({ specifier }) => !isOwn(local, specifier))
    ),
  };
}

function isOwn(file: string, specifier: string): boolean {
  return specifier.startsWith(".") && resolve(dirname(file), specifier).startsWith(FUNCTIONS);
}

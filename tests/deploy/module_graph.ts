import assert from "node:assert/strict";
import { dirname, join, relative, resolve } from "node:path";
import { PROJECT } from "../../local/command/project.ts";

const FUNCTIONS = join(PROJECT, "supabase", "functions");

export const FUNCTION_NAMES = ["agent-artifacts", "agent-mesh"] as const;

interface Import {
  /** Below `supabase/functions`. */
  readonly file: string;
  readonly specifier: string;
}

interface ModuleGraph {
  readonly modules: readonly {
    readonly local?: string;
    readonly dependencies?: readonly { readonly specifier: string }[];
  }[];
}

/** What a function's deployment has to be made of. */
export interface FunctionModules {
  /** Its modules and those that it shares, below the project's folder, sorted. */
  readonly files: readonly string[];
  /** Every import of theirs, of whatever kind, that is not of a file of theirs. */
  readonly foreignImports: readonly Import[];
}

/** The modules that a function's index.ts reaches, by imports of types and late ones too. */
export async function readModules(name: string): Promise<FunctionModules> {
  const { code, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", join(FUNCTIONS, name, "index.ts")],
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

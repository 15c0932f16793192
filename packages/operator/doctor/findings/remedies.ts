/** The remedies for a deployment's faults, as docs/ gives them too. */
import { basename } from "node:path";
import process from "node:process";
import { type Paste, shell, sql } from "./finding.ts";

/** The Supabase CLI that the documentation and the remedies name, and that the tests run. */
export const SUPABASE_CLI_VERSION = "3.1.0";

const CLI = `npx supabase@${SUPABASE_CLI_VERSION}`;
/** At its start, the local stack applies migrations and loads code and settings. */
export const LOCALLY = "(The local stack: start it again.)";

export const PUSH = shell(`${CLI} db push --remote`);
export const DEPLOY = shell(`${CLI} functions deploy agent-artifacts agent-mesh --use-api`);

/** Asks for the secret key, so that it appears neither on the screen nor in the shell's history. */
export const ENTER_SECRET_KEY = shell(
  "read -rsp 'secret key: ' SUPABASE_SECRET_KEY; export SUPABASE_SECRET_KEY",
);

/** Uses a file, because an encryption key must not be in the shell's history. */
export const MAKE_ENCRYPTION_KEY = shell(
  `(umask 077; set -C; echo "PSK_ENCRYPTION_KEYS=$(openssl rand -base64 32)" > ~/psk.env) &&\n` +
    `  ${CLI} secrets set --env-file ~/psk.env`,
);

export function setVariable(name: string, value: number): Paste {
  return shell(`${CLI} secrets set ${name}=${value}`);
}

/** A text without single quotes. */
export function setText(name: string, text: string): Paste {
  return shell(`${CLI} secrets set ${name}='${text}'`);
}

/** Makes the function use the default. */
export function unsetVariable(name: string): Paste {
  return unsetVariables(name);
}

export function unsetVariables(...names: readonly string[]): Paste {
  return shell(`${CLI} secrets unset ${names.join(" ")}`);
}

/** Asks for the secret, so that it appears neither on the screen nor in the shell's history. */
export const ENTER_TURN_SECRET = shell(
  `read -rsp 'static-auth-secret: ' SECRET &&\n` +
    `  (umask 077; echo "MESH_TURN_SECRET=$SECRET" > ~/turn.env) &&\n` +
    `  ${CLI} secrets set --env-file ~/turn.env; rm -f ~/turn.env`,
);

/** How this program was started: in a clone by Deno, elsewhere by Node. */
function ownProgram(): string {
  if ("Deno" in globalThis) return `npx -y deno@${Deno.version.deno} task agentops`;
  const [, file = "agentops"] = process.argv;
  return basename(file) === "agentops" ? "agentops" : `node ${file}`;
}

/** A command of `agentops`. */
export function runOwn(command: string): Paste {
  return shell(`${ownProgram()} ${command}`);
}

/** Applies the source of the policy in force again. Rules that exist stay. */
export function resumePolicy(fingerprint: string): Paste {
  const program = ownProgram();
  return shell(
    `${program} policy show | ${program} policy apply - --expect ${fingerprint} --yes`,
  );
}

/** For functions in `public`. */
export function grantToService(names: readonly string[]): Paste {
  const functions = names.map((name) => `public.${name}`).join(", ");
  return sql(
    `revoke all on function ${functions} from public, anon, authenticated;\n` +
      `grant execute on function ${functions} to service_role;`,
  );
}

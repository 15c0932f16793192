import { createHash, randomBytes } from "node:crypto";
import { chmod, mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import {
  type ClusterTemplate,
  copyCluster,
  copyTree,
  openCluster,
  startPostgres,
  SUPERUSER,
} from "./cluster.ts";
import { PINNED_VERSION } from "./binaries.ts";
import { removePostgresHome } from "./home.ts";
import { readMigrationFiles } from "./migration_files.ts";
import { applyMigrations } from "./migrations.ts";
import { stateFiles } from "../state/state_files.ts";
import { LOGIN_ROLES, platformTexts, preparePlatform } from "./platform.ts";

export interface TemplateOptions {
  /** Of one run of tests, and deleted after it. Other users may traverse it. */
  readonly folder: string;
  /** Null: the embedded PostgreSQL of this project's version. */
  readonly postgresDirectory: string | null;
}

/**
 * The folder's template for these options, made by the first stack that needs it. Only throw-away
 * stacks start from a copy of it: to make a cluster and apply the migrations takes a second of
 * processor time, and a run of all tests starts a hundred stacks. Throws CommandError.
 */
export async function openTemplate(options: TemplateOptions): Promise<ClusterTemplate> {
  const path = join(options.folder, `cluster-${await digestOf(options)}`);
  if (await stat(path).catch(() => null) === null) await makeTemplate(path, options);
  const programs = join(path, PROGRAMS);
  return {
    directory: join(path, "cluster"),
    password: await readFile(join(path, "password"), "utf8"),
    programs: await stat(programs).catch(() => null) === null ? null : programs,
  };
}

const PROGRAMS = "native";

/** Differs wherever two templates may differ. */
async function digestOf({ postgresDirectory }: TemplateOptions): Promise<string> {
  const migrations = await readMigrationFiles(null);
  const texts = [
    postgresDirectory ?? PINNED_VERSION,
    ...await platformTexts(),
    ...migrations.flatMap(({ file, text }) => [file, text]),
  ];
  return createHash("sha256").update(JSON.stringify(texts)).digest("hex").slice(0, 16);
}

/** Nobody sees an unfinished template. If two processes make it at once, the first one stays. */
async function makeTemplate(path: string, options: TemplateOptions): Promise<void> {
  const password = randomBytes(24).toString("hex");
  const unfinished = await mkdtemp(`${path}-`);
  const stateDir = await mkdtemp(join(tmpdir(), "agent-mesh-template-"));
  try {
    // PostgreSQL runs as another user if this process is root.
    await Promise.all([chmod(unfinished, 0o711), chmod(stateDir, 0o711)]);
    await mkdir(stateFiles(stateDir).logs);
    const cluster = await openCluster({
      stateDir,
      superuserPassword: password,
      durable: false,
      postgresDirectory: options.postgresDirectory,
    });
    const server = await startPostgres(cluster, { durable: false });
    const url = (role: string) =>
      `postgresql://${role}:${password}@127.0.0.1:${server.port}/postgres`;
    try {
      await preparePlatform(url(SUPERUSER), password);
      await applyMigrations({ databaseUrl: url("postgres"), directory: null });
    } finally {
      await server.child.terminate("SIGINT", 10_000);
    }
    await copyCluster(cluster.directory, join(unfinished, "cluster"));
    const { copied } = cluster.binaries;
    // Otherwise each stack would copy a thousand files, in half a second of processor time.
    if (copied !== null) await copyTree(copied, join(unfinished, PROGRAMS));
    await writeFile(join(unfinished, "password"), password, { mode: 0o600 });
    await rename(unfinished, path).catch((cause: NodeJS.ErrnoException) => {
      if (cause.code !== "ENOTEMPTY" && cause.code !== "EEXIST") throw cause;
    });
  } finally {
    await removePostgresHome(stateDir);
    await rm(stateDir, { recursive: true, force: true });
    await rm(unfinished, { recursive: true, force: true });
  }
}

/** Gives the roles of a copied cluster, which have the template's password, their own. */
export async function replacePassword(
  superuserUrl: string,
  password: string,
): Promise<void> {
  const sql = postgres(superuserUrl, { max: 1 });
  try {
    // `alter role` takes no parameters. The password is hex, so it needs no quoting.
    await sql.unsafe(
      [SUPERUSER, ...LOGIN_ROLES].map((role) => `alter role ${role} password '${password}';`)
        .join("\n"),
    );
  } finally {
    await sql.end();
  }
}

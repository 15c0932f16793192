import { chown, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Child, logTail, startChild } from "../processes/child_process.ts";
import { freePort } from "../processes/free_port.ts";
import { runProgram } from "../processes/run_program.ts";
import { type PostgresBinaries, preparePostgresBinaries } from "./binaries.ts";
import { openPostgresHome } from "./home.ts";
import { removeForeignPidFile } from "./pid_file.ts";
import { CommandError } from "../../command/command_error.ts";
import { stateFiles } from "../state/state_files.ts";
import { postgresUser, type SystemUser } from "./system_user.ts";

/** The superuser of the cluster, named as on Supabase. */
export const SUPERUSER = "supabase_admin";

export interface PostgresCluster {
  readonly binaries: PostgresBinaries;
  readonly directory: string;
  readonly user: SystemUser | null;
  readonly logFile: string;
  /** The password that its roles still have from the template. Null: the one of the options. */
  readonly copiedPassword: string | null;
}

/** A stopped cluster whose database has the platform's schemas and our migrations. */
export interface ClusterTemplate {
  readonly directory: string;
  /** Of its superuser and its login roles. */
  readonly password: string;
  /**
   * The programs that made it, for the user who runs PostgreSQL. Null: that user needs no copy of
   * them.
   */
  readonly programs: string | null;
}

export interface PostgresOptions {
  readonly stateDir: string;
  readonly superuserPassword: string;
  /** False only for throw-away clusters: a crash of the machine may then lose everything. */
  readonly durable: boolean;
  /** Default: the embedded PostgreSQL. */
  readonly binaries?: PostgresBinaries;
  /** Default, and null: the embedded PostgreSQL of this project's version. */
  readonly postgresDirectory?: string | null;
  /** What a new cluster is a copy of (see template.ts). Default, and null: initdb makes it. */
  readonly template?: ClusterTemplate | null;
}

/**
 * The cluster of a state directory, initialised at its first use. It is UTF-8 and sorts by ICU
 * en-US, like Supabase's databases, so that a forgotten `collate "C"` shows. Throws CommandError.
 */
export async function openCluster(options: PostgresOptions): Promise<PostgresCluster> {
  const user = await postgresUser();
  const home = await openPostgresHome(options.stateDir, user);
  const binaries = options.binaries ??
    await preparePostgresBinaries(
      home,
      user,
      options.template?.programs ?? options.postgresDirectory,
    );
  const directory = join(home, "cluster");
  const logFile = stateFiles(options.stateDir).logFile("postgres");
  const cluster = { binaries, directory, user, logFile, copiedPassword: null };
  try {
    await readFile(join(directory, "PG_VERSION"));
  } catch {
    if (options.template) {
      await copyCluster(options.template.directory, directory);
      return { ...cluster, copiedPassword: options.template.password };
    }
    await initialise(cluster, options);
  }
  return cluster;
}

/** Copies a cluster that no server runs on. Its files keep their owner. Throws CommandError. */
export async function copyCluster(source: string, target: string): Promise<void> {
  const unfinished = `${target}.new`;
  await rm(unfinished, { recursive: true, force: true });
  await copyTree(source, unfinished);
  await rename(unfinished, target);
}

/** Throws CommandError. */
export async function copyTree(source: string, target: string): Promise<void> {
  const { code, errors } = await runProgram("cp", {
    args: ["-a", ...(Deno.build.os === "linux" ? ["--reflink=auto"] : []), source, target],
  });
  if (code !== 0) throw new CommandError(`${source} could not be copied: ${errors}`);
}

async function initialise(cluster: PostgresCluster, options: PostgresOptions): Promise<void> {
  const unfinished = `${cluster.directory}.new`;
  const passwordFile = `${cluster.directory}.password`;
  await rm(unfinished, { recursive: true, force: true });
  await mkdir(unfinished, { mode: 0o700 });
  await writeFile(passwordFile, options.superuserPassword, { mode: 0o600 });
  if (cluster.user !== null) {
    await chown(unfinished, cluster.user.uid, cluster.user.gid);
    await chown(passwordFile, cluster.user.uid, cluster.user.gid);
  }
  const initdb = await startChild({
    command: cluster.binaries.initdb,
    args: [
      `--pgdata=${unfinished}`,
      `--username=${SUPERUSER}`,
      `--pwfile=${passwordFile}`,
      "--auth=scram-sha-256",
      "--encoding=UTF8",
      "--locale=C",
      "--locale-provider=icu",
      "--icu-locale=en-US",
      ...(options.durable ? [] : ["--no-sync"]),
    ],
    environment: cluster.binaries.environment,
    logFile: cluster.logFile,
    workingDirectory: "/",
    user: cluster.user ?? undefined,
  });
  const how = await initdb.ended;
  await rm(passwordFile, { force: true });
  if (how !== "exit code 0") {
    throw new CommandError(
      `PostgreSQL could not initialise its cluster (${how}): ${await logTail(cluster.logFile)}`,
    );
  }
  await rename(unfinished, cluster.directory);
}

export interface RunningPostgres {
  readonly port: number;
  readonly child: Child;
}

/**
 * Starts the server on a loopback port and waits until it accepts connections. Throws CommandError.
 */
export async function startPostgres(
  cluster: PostgresCluster,
  options: { readonly durable: boolean; readonly port?: number },
): Promise<RunningPostgres> {
  await removeForeignPidFile(cluster.directory);
  // The processes of a killed server may hold its shared memory for a moment, so retry.
  for (let attempt = 1;; attempt++) {
    const port = options.port ?? await freePort();
    const child = await startChild({
      command: cluster.binaries.postgres,
      args: ["-D", cluster.directory, ...serverSettings(port, options.durable)],
      environment: cluster.binaries.environment,
      logFile: cluster.logFile,
      workingDirectory: "/",
      user: cluster.user ?? undefined,
    });
    if (await isReady(child, cluster.directory)) return { port, child };
    if (attempt === 20) {
      throw new CommandError(`PostgreSQL did not start: ${await logTail(cluster.logFile)}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 100 * attempt));
  }
}

function serverSettings(port: number, durable: boolean): string[] {
  const settings = {
    listen_addresses: "127.0.0.1",
    port,
    unix_socket_directories: "",
    timezone: "UTC",
    log_timezone: "UTC",
    // Statements and details may quote secrets, which must not be in a log.
    log_min_error_statement: "panic",
    log_error_verbosity: "terse",
    ...(durable ? {} : { fsync: "off", synchronous_commit: "off", full_page_writes: "off" }),
  };
  return Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
}

async function isReady(child: Child, directory: string): Promise<boolean> {
  while (!child.hasEnded()) {
    const lines = await readFile(join(directory, "postmaster.pid"), "utf8").then(
      (text) => text.split("\n"),
      () => [],
    );
    // As pg_ctl does: the first line is the server's process id, the eighth its state.
    if (lines[0] === String(child.pid) && lines[7]?.trim() === "ready") return true;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return false;
}

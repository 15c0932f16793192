/** Real servers on this machine, each with a folder and a port of its own. */
import assert from "node:assert/strict";
import { freePort } from "../../../packages/local/processes/free_port.ts";
import { eventually } from "../../wireguard/hosts/run_program.ts";

export interface Server extends AsyncDisposable {
  readonly url: string;
}

/** Debian's `redis-tools` has the server's program, which goes by the name it is called. */
export async function startRedis(): Promise<Server> {
  const port = await freePort();
  const command = "exec -a redis-server redis-check-rdb";
  const options = `--port ${port} --bind 127.0.0.1 --save '' --appendonly no`;
  return await started("redis", ["bash", "-c", `${command} ${options}`], {
    url: `redis://127.0.0.1:${port}`,
    port,
  });
}

/** Accepts every user and password. Has an empty database `test`. */
export async function startMariadb(): Promise<Server> {
  const folder = await Deno.makeTempDir({ prefix: "mariadb-" });
  const port = await freePort();
  await Deno.mkdir(`${folder}/data`);
  await Deno.writeTextFile(`${folder}/init.sql`, "create database test;");
  const server = await started("mariadb", [
    "mariadbd",
    "--no-defaults",
    // It refuses to run as root, unless it is told to.
    "--user=root",
    `--datadir=${folder}/data`,
    // Without the tables of users, which Debian's smallest package of the server cannot make.
    "--skip-grant-tables",
    `--init-file=${folder}/init.sql`,
    "--innodb-buffer-pool-size=16M",
    "--bind-address=127.0.0.1",
    `--port=${port}`,
    `--socket=${folder}/socket`,
  ], { url: `mysql://mesh:secret@127.0.0.1:${port}/test`, port });
  return {
    url: server.url,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await Deno.remove(folder, { recursive: true });
    },
  };
}

async function started(
  name: string,
  [program = "", ...args]: readonly string[],
  { url, port }: { readonly url: string; readonly port: number },
): Promise<Server> {
  const command = new Deno.Command(program, {
    args,
    stdin: "null",
    stdout: "null",
    stderr: "null",
  });
  const child = command.spawn();
  let hasEnded = false;
  const ended = child.status.then(() => hasEnded = true);
  await eventually(`${name} listens`, {
    async condition() {
      assert.ok(!hasEnded, `${name} has ended, or is not installed`);
      return await Deno.connect({ hostname: "127.0.0.1", port })
        .then((connection) => (connection.close(), true), () => false);
    },
  });
  return {
    url,
    async [Symbol.asyncDispose]() {
      if (!hasEnded) child.kill();
      await ended;
    },
  };
}

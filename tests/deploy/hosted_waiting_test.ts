import { join } from "node:path";
import { startHostedFunction } from "../../dev/deploy/hosted_function.ts";
import { packFunctions } from "../../dev/deploy/pack.ts";
import { artifactTest } from "../conformance/artifacts.ts";
import { SECRET_KEY, SUPABASE_URL } from "../conformance/client.ts";
import { startProxy } from "../own_function/proxy.ts";
import { assertEmpty, pollPasses, waitInInbox } from "../own_function/waiting/waiters.ts";
import { openTemporaryDirectory } from "./temporary_directory.ts";

artifactTest(
  "requests that wait, under the Deno that hosted projects run → forgotten when they go away, answered when the process ends",
  async ({ builder, stranger }) => {
    await using directory = await openTemporaryDirectory();
    await using proxy = startProxy(SUPABASE_URL);
    const packed = await packFunctions(directory.path);
    const process = await startHostedFunction(
      packed.find(({ name }) => name === "agent-artifacts")!,
      {
        name: "agent-artifacts",
        environment: {
          SUPABASE_URL: proxy.url,
          SUPABASE_SECRET_KEYS: JSON.stringify({ default: SECRET_KEY }),
        },
        logFile: join(directory.path, "function.log"),
      },
    );
    try {
      const both = pollPasses(proxy, (waits) => waits === 2);
      const goes = waitInInbox({ process }, stranger);
      const stays = waitInInbox({ process }, builder);
      await both;
      goes.abort();
      await pollPasses(proxy, (waits) => waits === 1);
      const stopped = process.stop();
      await assertEmpty(stays);
      await stopped;
    } finally {
      await process.kill();
    }
  },
);

/** A hosted project for the Supabase CLI: stand-ins for the platform and for its database. */
import { writeFile } from "node:fs/promises";
import { copyProject } from "../../../dev/deploy/pack.ts";
import { startManagementApi } from "../../../dev/deploy/management_api.ts";
import {
  openProjectDatabase,
  type ProjectDatabase,
} from "../../deploy/database/project_database.ts";
import { PROJECT_REF } from "../blocks/placeholders.ts";
import { Terminal } from "../blocks/terminal.ts";

export interface HostedProject extends AsyncDisposable {
  /** A terminal in a clone of this project, logged in with an access token. */
  readonly terminal: Terminal;
  readonly database: ProjectDatabase;
  /** The functions' secrets, by name. */
  readonly secrets: ReadonlyMap<string, string>;
  /** The names of the deployed functions. */
  readonly functions: ReadonlySet<string>;
}

/** Opens an empty project. */
export async function openHostedProject(): Promise<HostedProject> {
  const stack = new AsyncDisposableStack();
  const accessToken = `sbp_${crypto.randomUUID().replaceAll("-", "")}00000000`;
  const database = stack.use(await openProjectDatabase());
  const deployments = stack.use(startManagementApi(accessToken));
  const secrets = new Map<string, string>();
  const functions = new Set<string>();

  async function answer(request: Request): Promise<Response> {
    const { pathname, search } = new URL(request.url);
    const path = pathname.replace(`/v1/projects/${PROJECT_REF}`, "");
    switch (`${request.method} ${path}`) {
      case "GET /v1/profile":
        return Response.json({ gotrue_id: "1", primary_email: "operator@example.com" });
      case "GET ":
        return Response.json(DESCRIPTION);
      case "GET /api-keys":
        return Response.json([{ name: "anon", api_key: "anon", type: "legacy", id: "anon" }]);
      case "GET /config/database/pooler":
        return Response.json([]);
      case "POST /secrets":
        for (const { name, value } of await request.json()) secrets.set(name, value);
        return Response.json({}, { status: 201 });
      case "DELETE /secrets":
        for (const name of await request.json()) secrets.delete(name);
        return Response.json({});
      case "DELETE /functions/agent-artifacts":
      case "DELETE /functions/agent-mesh":
        functions.delete(path.slice("/functions/".length));
        return Response.json({});
      default: {
        const { method, headers } = request;
        const body = method === "GET" ? null : await request.arrayBuffer();
        const url = deployments.url + pathname + search;
        const response = await fetch(url, { method, headers, body });
        for (const name of deployments.live) functions.add(name);
        return response;
      }
    }
  }

  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, answer);
  stack.defer(() => server.shutdown());
  const folder = await Deno.makeTempDir({ prefix: "agent-mesh-clone-" });
  stack.defer(() => Deno.remove(folder, { recursive: true }));
  await copyProject(folder);
  const url = `http://127.0.0.1:${server.addr.port}`;
  const profile = { name: "loopback", api_url: url, dashboard_url: url, project_host: "localhost" };
  await writeFile(`${folder}/profile.json`, JSON.stringify(profile));
  const terminal = stack.use(
    await Terminal.open({
      folder,
      environment: {
        SUPABASE_ACCESS_TOKEN: accessToken,
        SUPABASE_PROFILE: `${folder}/profile.json`,
        LINKED_DATABASE_URL: database.url,
      },
    }),
  );
  return {
    terminal,
    database,
    secrets,
    functions,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

const DESCRIPTION = {
  id: PROJECT_REF,
  ref: PROJECT_REF,
  name: "agents",
  organization_id: "organization",
  organization_slug: "organization",
  region: "eu-central-1",
  created_at: "2026-01-01T00:00:00Z",
  status: "ACTIVE_HEALTHY",
  database: {
    host: "db.localhost",
    version: "17.4.1.1",
    postgres_engine: "17",
    release_channel: "ga",
  },
};

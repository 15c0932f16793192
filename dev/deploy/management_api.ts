/** One function as the CLI uploaded it. */
export interface Deployment {
  readonly metadata: DeploymentMetadata;
  /** By path below the project's folder. */
  readonly files: ReadonlyMap<string, Uint8Array<ArrayBuffer>>;
}

/** The fields of a function's metadata that this project sets. */
export interface DeploymentMetadata {
  readonly name: string;
  readonly entrypoint_path: string;
  readonly import_map_path: string;
  readonly verify_jwt: boolean;
}

export interface ManagementApi extends AsyncDisposable {
  readonly url: string;
  /** By function name. */
  readonly deployments: ReadonlyMap<string, Deployment>;
  /** The functions that the last bulk update made live. */
  readonly live: readonly string[];
}

/**
 * A stand-in for the platform's management API, on loopback. It does what `supabase functions
 * deploy --use-api` needs: it accepts each function's files, then one update that makes them live.
 */
export function startManagementApi(accessToken: string): ManagementApi {
  const deployments = new Map<string, Deployment>();
  let live: string[] = [];

  async function answer(request: Request): Promise<Response> {
    if (request.headers.get("authorization") !== `Bearer ${accessToken}`) {
      return Response.json({ message: "Unauthorized" }, { status: 401 });
    }
    const { pathname, searchParams } = new URL(request.url);
    const operation = `${request.method} ${pathname.replace(/^\/v1\/projects\/[a-z]{20}/, "")}`;
    switch (operation) {
      case "POST /functions/deploy": {
        const deployment = await readDeployment(await request.formData());
        deployments.set(searchParams.get("slug")!, deployment);
        return Response.json(description(searchParams.get("slug")!, deployment), { status: 201 });
      }
      case "PUT /functions":
        live = (await request.json() as { slug: string }[]).map(({ slug }) => slug);
        return Response.json({ functions: [] });
      case "GET /functions":
        return Response.json([]);
      default:
        return Response.json({ message: "Not Found" }, { status: 404 });
    }
  }

  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, answer);
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    deployments,
    get live() {
      return live;
    },
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

async function readDeployment(form: FormData): Promise<Deployment> {
  const files = new Map<string, Uint8Array<ArrayBuffer>>();
  for (const file of form.getAll("file")) {
    if (file instanceof File) files.set(file.name, new Uint8Array(await file.arrayBuffer()));
  }
  return { metadata: JSON.parse(String(form.get("metadata"))), files };
}

function description(slug: string, { metadata }: Deployment) {
  return {
    ...metadata,
    id: slug,
    slug,
    version: 1,
    status: "ACTIVE",
    created_at: 0,
    updated_at: 0,
  };
}

/** The globals that tell which platform this code runs on. */

interface PlatformGlobals {
  readonly Deno?: {
    readonly permissions: {
      query(permission: { name: string }): Promise<{ readonly state: string }>;
    };
  };
  readonly process?: { readonly versions?: { readonly node?: string } };
  readonly navigator?: { readonly userAgent?: string };
}

const { Deno, process, navigator } = globalThis as PlatformGlobals;
const userAgent = navigator?.userAgent ?? "";

/** Cloudflare's runtime. Its `fetch` throws for `redirect: "error"`. */
export const isWorkerd: boolean = userAgent === "Cloudflare-Workers";

/** Whether there may be built-in modules: in Node, Deno, Bun and some edge runtimes. */
export const mayHaveNodeModules: boolean = Deno !== undefined || isWorkerd ||
  process?.versions?.node !== undefined;

/** A page or a worker of a browser. Browsers send streams over HTTP/2 only, some not at all. */
export const isBrowser: boolean = !mayHaveNodeModules &&
  userAgent.startsWith("Mozilla/");

/** Whether files can be written that other processes read. Never asks for a permission. */
export async function mayShareFiles(): Promise<boolean> {
  if (!mayHaveNodeModules || isWorkerd) return false;
  if (Deno === undefined) return true;
  const asked = ["env", "read", "write", "sys"].map((name) => Deno.permissions.query({ name }));
  return (await Promise.all(asked)).every(({ state }) => state === "granted");
}

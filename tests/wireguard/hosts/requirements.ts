/** What real tunnels require of the machine. Tests are skipped if something is missing. */

const PROGRAMS = [
  "wg",
  "wg-quick",
  "ip",
  "nft",
  "ping",
  "socat",
  "ss",
  "sysctl",
  "jq",
  "curl",
  "setpriv",
];

const missing = await missingRequirements();
const mustRun = Deno.env.get("CI") === "true";
if (missing.length > 0) {
  const outcome = mustRun ? "fail" : "are left out";
  console.log(`Tests with real tunnels ${outcome}: this machine lacks ${missing.join(", ")}.`);
}

/**
 * A test with real tunnels. It is ignored on a machine that cannot have tunnels, but fails in CI.
 */
export function tunnelTest(name: string, run: () => Promise<void>): void {
  Deno.test({
    name,
    ignore: missing.length > 0 && !mustRun,
    fn() {
      if (missing.length > 0) throw new Error(`This machine lacks ${missing.join(", ")}.`);
      return run();
    },
  });
}

async function missingRequirements(): Promise<string[]> {
  const required: [what: string, isThere: boolean][] = [
    ["Linux", Deno.build.os === "linux"],
    ["root", Deno.build.os === "linux" && Deno.uid() === 0],
    ["permission to make network namespaces", await canMakeNamespaces()],
    ["WireGuard in the kernel, or wireguard-go and /dev/net/tun", await canMakeTunnels()],
  ];
  for (const program of PROGRAMS) required.push([program, await isInstalled(program)]);
  return required.flatMap(([what, isThere]) => isThere ? [] : [what]);
}

/** Root in a container may lack the permission to create namespaces. */
async function canMakeNamespaces(): Promise<boolean> {
  const unshare = new Deno.Command("unshare", { args: ["--net", "true"], stderr: "null" });
  return await unshare.output().then(({ success }) => success, () => false);
}

async function canMakeTunnels(): Promise<boolean> {
  if (await exists("/sys/module/wireguard")) return true;
  return await exists("/dev/net/tun") && await isInstalled("wireguard-go");
}

async function isInstalled(program: string): Promise<boolean> {
  const directories = (Deno.env.get("PATH") ?? "").split(":");
  const found = await Promise.all(
    directories.map((directory) => exists(`${directory}/${program}`)),
  );
  return found.includes(true);
}

function exists(path: string): Promise<boolean> {
  return Deno.stat(path).then(() => true, () => false);
}

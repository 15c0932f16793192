/** What a host needs for a tunnel of its own. The sandbox peer needs none of it. */
import { access, constants } from "node:fs/promises";
import { delimiter, join } from "node:path";
import process from "node:process";
import type { Firewall } from "../wanted/ruleset.ts";
import { ProgramError, run } from "../basics/programs.ts";

const SANDBOX_PEER = "the sandbox peer, agentfiles mesh join, needs neither root nor a TUN device";

/** The program that stands in for WireGuard in the kernel, as wg-quick finds it. */
export function userspaceProgram(): string {
  return process.env["WG_QUICK_USERSPACE_IMPLEMENTATION"] || "wireguard-go";
}

/**
 * Throws an Error that says what is missing. Asks the kernel: in a container, root may lack the
 * capability, and in a user namespace, root may have one that does not apply to this network.
 */
export async function requireHost(
  { interfaceName, firewall }: { readonly interfaceName: string; readonly firewall: Firewall },
): Promise<void> {
  const user = process.getuid?.();
  if (process.platform !== "linux" || user === undefined) {
    throw new Error(`only Linux can have a tunnel of its own; ${SANDBOX_PEER}`);
  }
  if (user !== 0) {
    throw new Error(
      `root is needed to make the tunnel and its firewall; this is user ${user}; ${SANDBOX_PEER}`,
    );
  }
  await requireCapability(firewall);
  if (!await isOnPath("wg")) {
    throw new Error("the program wg is missing: install wireguard-tools");
  }
  await requireTunnels(interfaceName);
}

async function requireCapability(firewall: Firewall): Promise<void> {
  const lacks = (program: string, reason: string) =>
    new Error(
      `CAP_NET_ADMIN is needed to make the tunnel and its firewall; ${program} says: ` +
        `${reason}; ${SANDBOX_PEER}`,
    );
  try {
    await run("nft", ["list", "tables"]);
    return;
  } catch (error) {
    const { isUnstarted, message } = error as ProgramError;
    if (!isUnstarted) throw lacks("nft", message);
    if (firewall === "nftables") {
      throw new Error(
        "the program nft is missing: install nftables, or let the host enforce the rules by " +
          "itself, with --firewall none",
      );
    }
  }
  const [, mtu = "65536"] = / mtu (\d+) /.exec(await run("ip", ["-o", "link", "show", "lo"])) ?? [];
  // Its current value, so nothing changes.
  await run("ip", ["link", "set", "dev", "lo", "mtu", mtu]).catch((error) => {
    throw lacks("ip", (error as Error).message);
  });
}

async function requireTunnels(interfaceName: string): Promise<void> {
  if (await run("wg", ["show", interfaceName]).then(() => true, () => false)) return;
  const trial = `mesh-trial${Math.trunc(Math.random() * 10_000)}`;
  if (await run("ip", ["link", "add", trial, "type", "wireguard"]).then(() => true, () => false)) {
    await run("ip", ["link", "delete", trial]);
    return;
  }
  const program = userspaceProgram();
  const rights = constants.R_OK | constants.W_OK;
  // Deno lets only a process with all rights look at a device. Then the program finds out.
  const hasDevice = await access("/dev/net/tun", rights)
    .then(() => true, (error) => error.name === "NotCapable");
  if (!hasDevice) {
    throw new Error(
      "no tunnel can be made here: the kernel has no WireGuard, and there is no TUN device " +
        `(/dev/net/tun); ${SANDBOX_PEER}`,
    );
  }
  if (!await isOnPath(program)) {
    throw new Error(
      `no tunnel can be made here: the kernel has no WireGuard, and ${program} is not installed`,
    );
  }
}

async function isOnPath(program: string): Promise<boolean> {
  if (program.includes("/")) return await isExecutable(program);
  for (const folder of (process.env["PATH"] ?? "").split(delimiter)) {
    if (await isExecutable(join(folder, program))) return true;
  }
  return false;
}

function isExecutable(file: string): Promise<boolean> {
  return access(file, constants.X_OK).then(() => true, () => false);
}

import { networkInterfaces } from "node:os";
import { kindOf } from "./address_kinds.ts";

/** Interfaces of tunnels, and of networks that exist only on this machine. */
const VIRTUAL = /^(?:br-|cni|docker|flannel|lxc|lxd|podman|tailscale|tun|utun|veth|virbr|wg|zt)/;

/**
 * The addresses of this machine that others could reach, those of virtual interfaces last. Empty if
 * this program may not read them, as in Deno without `--allow-sys`.
 */
export function localAddresses(): string[] {
  const found: { readonly address: string; readonly isVirtual: boolean }[] = [];
  for (const [name, addresses] of Object.entries(interfaces())) {
    for (const { address } of addresses ?? []) {
      const isVirtual = VIRTUAL.test(name);
      if (kindOf(address) !== "none") found.push({ address, isVirtual });
    }
  }
  found.sort((one, other) => Number(one.isVirtual) - Number(other.isVirtual));
  return found.map(({ address }) => address);
}

function interfaces(): ReturnType<typeof networkInterfaces> {
  try {
    return networkInterfaces();
  } catch {
    return {};
  }
}

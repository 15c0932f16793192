/**
 * Looks up DNS names. The agent that registered a name decides how slow its name server is. So this
 * uses a resolver that needs no thread: the threads that look up other names, such as the
 * service's, would all wait for the slow ones. It knows /etc/hosts and the name servers of
 * /etc/resolv.conf.
 */
import { readFile } from "node:fs/promises";
import { Resolver } from "node:dns/promises";
import { canonicalAddress } from "../wanted/values.ts";

/** In milliseconds, for each of two attempts. */
const PATIENCE = 5000;

/** The addresses of a name, IPv4 first. Empty if it does not resolve. */
export async function resolve(name: string): Promise<string[]> {
  const own = await inHostsFile(name);
  if (own.length > 0) return own;
  const resolver = new Resolver({ timeout: PATIENCE, tries: 2 });
  const found = await Promise.all([
    resolver.resolve4(name).catch(() => []),
    resolver.resolve6(name).catch(() => []),
  ]);
  return canonical(found.flat());
}

async function inHostsFile(name: string): Promise<string[]> {
  const text = await readFile("/etc/hosts", "utf8").catch(() => "");
  const lines = text.split("\n").map((line) => line.replace(/#.*/, "").trim().split(/\s+/));
  return canonical(
    lines.flatMap(([address = "", ...names]) =>
      names.some((other) => other.toLowerCase() === name) ? [address] : []
    ),
  );
}

function canonical(addresses: readonly string[]): string[] {
  return addresses.flatMap((address) => canonicalAddress(address.toLowerCase()) ?? []);
}

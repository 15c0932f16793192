import assert from "node:assert/strict";
import { join } from "node:path";

/** All fields are PEM. */
export interface Certificate {
  readonly key: string;
  readonly cert: string;
  /** The certificate of the authority that signed `cert`; no platform trusts it. */
  readonly authority: string;
}

/** A certificate for 127.0.0.1 and `name`. */
export async function makeCertificate(name = "localhost"): Promise<Certificate> {
  const folder = await Deno.makeTempDir();
  const file = (what: string) => join(folder, what);
  const request = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"];
  try {
    const authority = ["-keyout", file("ca.key"), "-out", file("ca.pem"), "-subj", "/CN=Nobody"];
    await openssl([...request, ...authority]);
    await openssl([
      ...request,
      "-keyout",
      file("key"),
      "-out",
      file("cert"),
      "-subj",
      `/CN=${name}`,
      "-CA",
      file("ca.pem"),
      "-CAkey",
      file("ca.key"),
      "-addext",
      "basicConstraints=critical,CA:FALSE",
      "-addext",
      `subjectAltName=DNS:${name},IP:127.0.0.1`,
    ]);
    const [key, cert, ca] = await Promise.all(
      ["key", "cert", "ca.pem"].map((what) => Deno.readTextFile(file(what))),
    );
    return { key: key!, cert: cert!, authority: ca! };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function openssl(args: readonly string[]): Promise<void> {
  const { code, stderr } = await new Deno.Command("openssl", { args: [...args] }).output();
  assert.equal(code, 0, new TextDecoder().decode(stderr));
}

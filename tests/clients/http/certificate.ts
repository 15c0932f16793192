import assert from "node:assert/strict";
import { join } from "node:path";

export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

/** A certificate for 127.0.0.1 and `name`, signed by itself, in PEM. */
export async function makeCertificate(name = "localhost"): Promise<Certificate> {
  const folder = await Deno.makeTempDir();
  try {
    const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
    const { code, stderr } = await new Deno.Command("openssl", {
      args: [
        ...["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"],
        ...["-keyout", key, "-out", cert, "-subj", `/CN=${name}`],
        ...["-addext", `subjectAltName=DNS:${name},IP:127.0.0.1`],
      ],
    }).output();
    assert.equal(code, 0, new TextDecoder().decode(stderr));
    return { key: await Deno.readTextFile(key), cert: await Deno.readTextFile(cert) };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

import { run } from "../../wireguard/hosts/run_program.ts";

/** PEM files of a certificate and of the authority that signed it. */
export interface Certificate {
  readonly authority: string;
  readonly certificate: string;
  readonly key: string;
}

/** Creates a certificate for a DNS name or an IP address in a new folder below `directory`. */
export async function makeCertificate(directory: string, name: string): Promise<Certificate> {
  const folder = await Deno.makeTempDir({ dir: directory, prefix: "certificate-" });
  const [authority, certificate, key] = ["authority", "certificate", "key"].map((file) =>
    `${folder}/${file}.pem`
  ) as [string, string, string];
  const kind = /^[\d.]+$|:/.test(name) ? "IP" : "DNS";
  const make = (...args: string[]) =>
    run(["openssl", "req", "-newkey", "rsa:2048", "-nodes", ...args]);
  const signing = `${folder}/signing.pem`;
  await make("-x509", "-subj", "/CN=authority", "-keyout", signing, "-out", authority);
  await make("-subj", `/CN=${name}`, "-keyout", key, "-out", `${folder}/request`);
  await Deno.writeTextFile(`${folder}/names`, `subjectAltName=${kind}:${name}\n`);
  const signed = ["-CA", authority, "-CAkey", signing, "-CAcreateserial"];
  await run([
    "openssl",
    "x509",
    "-req",
    "-in",
    `${folder}/request`,
    ...signed,
    "-extfile",
    `${folder}/names`,
    "-out",
    certificate,
  ]);
  return { authority, certificate, key };
}

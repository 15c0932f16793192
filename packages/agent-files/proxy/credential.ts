/** The name and password in a proxy's URL. As in curl, a `%` that encodes nothing is kept. */
export function credentialOf(
  { username, password }: URL,
): { readonly name: string; readonly password: string } | null {
  if (username === "" && password === "") return null;
  return { name: decoded(username), password: decoded(password) };
}

/** The same URL, with a name and password that every program decodes without an error. */
export function withEncodedCredential(proxy: URL): URL {
  const { name, password } = credentialOf(proxy) ?? { name: "", password: "" };
  const encoded = new URL(proxy);
  encoded.username = encodeURIComponent(name);
  encoded.password = encodeURIComponent(password);
  return encoded;
}

function decoded(text: string): string {
  return text.replace(/(?:%[0-9a-f]{2})+/gi, (escapes) => {
    try {
      return decodeURIComponent(escapes);
    } catch {
      return escapes;
    }
  });
}

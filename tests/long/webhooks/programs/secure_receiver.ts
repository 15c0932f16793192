/** A receiver of webhooks by https, on port 443 of one address. */
export interface SecureReceiver extends AsyncDisposable {
  /** The Host header of each request. */
  readonly hosts: readonly string[];
}

export function startSecureReceiver(
  options: { readonly hostname: string; readonly key: string; readonly cert: string },
): SecureReceiver {
  const hosts: string[] = [];
  const server = Deno.serve({ ...options, port: 443, onListen() {} }, (request) => {
    hosts.push(request.headers.get("host") ?? new URL(request.url).host);
    return new Response(null, { status: 204 });
  });
  return { hosts, [Symbol.asyncDispose]: () => server.shutdown() };
}

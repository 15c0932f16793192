/**
 * Runs the module that its second argument names, with `Deno.serve` listening on the loopback port of its first: the
 * platform's older Deno takes no address from the environment.
 */
const [port, entryPoint] = Deno.args;
const serve = Deno.serve;
Object.defineProperty(Deno, "serve", {
  value: (handler: Deno.ServeHandler) =>
    serve({ hostname: "127.0.0.1", port: Number(port) }, handler),
});
await import(`file://${entryPoint}`);

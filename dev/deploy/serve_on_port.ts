/**
 * Runs a module and makes its `Deno.serve` listen on a loopback port. Arguments: the port, and the
 * module's path. The platform's older Deno does not read an address from the environment.
 */
const [port, entryPoint] = Deno.args;
const serve = Deno.serve;
Object.defineProperty(Deno, "serve", {
  value: (handler: Deno.ServeHandler) =>
    serve({ hostname: "127.0.0.1", port: Number(port) }, handler),
});
await import(`file://${entryPoint}`);

/** What each driver does. All files are JavaScript, so that every runtime runs the same. */

const MAIN = `
import process from "node:process";
import { join } from "agent-files/mesh";
import { exposeServer } from "./expose.js";
const given = JSON.parse(process.argv[2]);
const { run } = await import("./" + given.driver + ".js");
const [planner, builder] = await Promise.all(given.keys.map((key) => join({ url: given.url, key })));
if (given.server !== null) await exposeServer(builder, given);
setTimeout(() => {
  console.error("The driver does not end.");
  process.exit(1);
}, 120_000).unref();
const sent = "z".repeat(given.length);
const outcome = await run({ ...given, sent, planner, builder, host: builder.name });
await Promise.all([planner.close(), builder.close()]);
console.log(JSON.stringify(outcome));
process.exit(0);`;

const EXPOSE = `
import { connect } from "node:net";
export function exposeServer(mesh, { port, server }) {
  const { hostname, port: local } = new URL(server);
  return mesh.listenNet(port, (socket) => {
    const real = connect({ host: hostname, port: Number(local) });
    socket.on("error", () => real.destroy());
    real.on("error", () => socket.destroy());
    socket.pipe(real).pipe(socket);
  });
}`;

const HTTP_SERVER = `
export function serveHttp(mesh, { port, server }) {
  return mesh.listenNet(port, (socket) => {
    // In Deno, its HTTP server does not listen for this.
    socket.on("error", () => {});
    server().emit("connection", socket);
  }, { allowHalfOpen: true });
}`;

const PG = `
import { once } from "node:events";
import pg from "pg";
export async function run({ planner, host, port, server, sent }) {
  const { username: user, password, pathname } = new URL(server);
  const options = { host, port, user, password, database: pathname.slice(1) };
  const sockets = [];
  const stream = () => {
    const socket = planner.netSocket();
    sockets.push(socket);
    return socket;
  };
  const client = new pg.Client({ ...options, stream });
  await client.connect();
  const { rows } = await client.query("select $1::text as text", [sent]);
  const refused = await client.query("select * from nowhere").catch(({ code }) => code);
  await client.end();
  const pool = new pg.Pool({ ...options, stream, max: 3 });
  const sums = await Promise.all([1, 2, 3].map(async (number) =>
    (await pool.query("select $1::int + 1 as sum, pg_sleep(0.1)", [number])).rows[0].sum
  ));
  await pool.end();
  // The pool does not wait for its connections.
  await Promise.all(sockets.map((socket) => socket.closed || once(socket, "close")));
  return { length: rows[0].text.length, sums, refused };
}`;

const IOREDIS = `
import { AbstractConnector, Redis } from "ioredis";
export async function run({ planner, host, port, sent }) {
  class Connector extends AbstractConnector {
    async connect() {
      return this.stream = planner.netSocket().connect({ host, port });
    }
  }
  const [redis, listener] = [new Redis({ Connector }), new Redis({ Connector })];
  await redis.set("text", sent);
  const text = await redis.get("text");
  await redis.del("count");
  const answers = await redis.pipeline().incr("count").incr("count").incr("count").exec();
  const heard = new Promise((resolve) => listener.on("message", (_, message) => resolve(message)));
  await listener.subscribe("news");
  await redis.publish("news", "hello");
  const outcome = {
    length: text.length,
    counted: answers.map(([, count]) => count),
    heard: await heard,
  };
  await Promise.all([redis.quit(), listener.quit()]);
  return outcome;
}`;

const MYSQL2 = `
import { createConnection } from "mysql2/promise";
export async function run({ planner, host, port, server, sent }) {
  const { username: user, password, pathname } = new URL(server);
  const stream = () => planner.netSocket().connect({ host, port });
  const database = pathname.slice(1);
  const connection = await createConnection({ user, password, database, stream });
  const [[{ text }]] = await connection.execute("select ? as text", [sent]);
  const [[{ sum }]] = await connection.query("select 1 + 1 as sum");
  const refused = await connection.query("select * from nowhere").catch(({ code }) => code);
  await connection.end();
  return { length: text.length, sum, refused };
}`;

const UNDICI = `
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { Agent, request } from "undici";
import { serveHttp } from "./http_server.js";
export async function run({ planner, builder, host, port, sent }) {
  let [connections, number] = [0, 0];
  const server = createServer(async (asked, answer) => {
    const { length } = await text(asked);
    answer.end(JSON.stringify({ number: number++, length, from: asked.socket.agentId }));
  });
  await serveHttp(builder, { port, server: () => (connections++, server) });
  const dispatcher = new Agent({
    connections: 1,
    connect({ hostname, port }, done) {
      const socket = planner.netSocket().connect({ host: hostname, port });
      socket.once("connect", () => done(null, socket)).once("error", done);
    },
  });
  const answers = [];
  for (let count = 0; count < 2; count++) {
    const { body } = await request("http://" + host + ":" + port + "/", {
      ...{ method: "POST", body: sent, dispatcher },
    });
    answers.push(await body.json());
  }
  await dispatcher.close();
  return { answers, connections };
}`;

const WS = `
import { createServer } from "node:http";
import { once } from "node:events";
import { WebSocket, WebSocketServer } from "ws";
import { serveHttp } from "./http_server.js";
export async function run({ planner, builder, host, port, sent }) {
  const server = createServer();
  const chat = new WebSocketServer({ server });
  let from = null;
  chat.on("connection", (socket, request) => {
    from = request.socket.agentId;
    socket.on("message", (message) => socket.send(message));
  });
  await serveHttp(builder, { port, server: () => server });
  const socket = new WebSocket("ws://" + host + ":" + port + "/chat", {
    createConnection: ({ host, port }) => planner.netSocket().connect({ host, port }),
  });
  await once(socket, "open");
  socket.send(sent);
  const [message] = await once(socket, "message");
  socket.close(4000, "done");
  const [code] = await once(socket, "close");
  return { heard: String(message).length, code, from };
}`;

const HTTP = `
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import http from "node:http";
import https from "node:https";
import { text } from "node:stream/consumers";
import { connect } from "node:tls";
import { serveHttp } from "./http_server.js";
export async function run({ planner, builder, host, port, sent }) {
  const clients = [];
  const answer = async (asked, answer) => {
    const { agentId, remoteAddress } = asked.socket;
    clients.push([agentId, planner.addresses.includes(remoteAddress)]);
    answer.end(await text(asked));
  };
  const [key, cert] = await Promise.all([readFile("key.pem"), readFile("cert.pem")]);
  const servers = {
    "http:": http.createServer(answer),
    "https:": https.createServer({ key, cert }, answer),
  };
  let protocol = "";
  await serveHttp(builder, { port, server: () => servers[protocol] });
  const answers = [];
  for (const module of [http, https]) {
    protocol = module === http ? "http:" : "https:";
    const asking = module.request({
      ...{ method: "POST", host, port },
      createConnection() {
        const socket = planner.netSocket().connect({ host, port });
        if (protocol === "http:") return socket;
        return connect({ socket, servername: "builder", ca: cert });
      },
    });
    asking.end(sent);
    const [message] = await once(asking, "response");
    answers.push({ protocol, length: (await text(message)).length });
  }
  return { answers, clients };
}`;

export const SOURCES: Readonly<Record<string, string>> = {
  "main.js": MAIN,
  "expose.js": EXPOSE,
  "http_server.js": HTTP_SERVER,
  "pg.js": PG,
  "ioredis.js": IOREDIS,
  "mysql2.js": MYSQL2,
  "undici.js": UNDICI,
  "ws.js": WS,
  "http.js": HTTP,
};

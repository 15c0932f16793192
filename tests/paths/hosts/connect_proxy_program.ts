/** An HTTP proxy that allows only CONNECT to port 443, as many do. */
import { connect, createServer } from "node:net";
import process from "node:process";

createServer((socket) => {
  socket.on("error", () => {});
  socket.once("data", (head) => {
    const [, host, port] = /^CONNECT (\S+):(\d+) HTTP\/1\.1\r\n/.exec(head.toString()) ?? [];
    if (host === undefined || port !== "443") {
      socket.end("HTTP/1.1 403 Forbidden\r\n\r\n");
      return;
    }
    const server = connect({ host, port: 443 }, () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      socket.pipe(server).pipe(socket);
    });
    server.on("error", () => socket.destroy());
    socket.on("close", () => server.destroy());
    server.on("close", () => socket.destroy());
  });
}).listen(Number(process.argv[2]));

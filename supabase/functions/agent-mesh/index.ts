import { meshApp } from "./app.ts";

Deno.serve(meshApp(Deno.env).fetch);

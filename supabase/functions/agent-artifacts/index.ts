import { artifactsApp } from "./app.ts";

Deno.serve(artifactsApp(Deno.env).fetch);

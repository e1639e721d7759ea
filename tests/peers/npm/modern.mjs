// A server of three tools on the npm package `@modelcontextprotocol/server`: 2026-07-28 only, legacy is refused.
//
// Usage: modern.mjs PORT, in the directory that holds `node_modules`. Serves http://127.0.0.1:PORT/mcp until killed.
import { createServer } from "node:http";
import { createRequire } from "node:module";

const require = createRequire(`${process.cwd()}/`);
const { McpServer, createMcpHandler, fromJsonSchema } = require("@modelcontextprotocol/server");

const text = (value) => ({ content: [{ type: "text", text: String(value) }] });

const object = (properties, required) => fromJsonSchema({ type: "object", properties, required });

function newServer() {
  const server = new McpServer(
    { name: "three-tools", version: "1.4.0" },
    { instructions: "Counts words, shifts dates and converts temperatures. Nothing it does leaves this process." },
  );
  server.registerTool(
    "count_words",
    { description: "Counts the words of a text.", inputSchema: object({ text: { type: "string" } }, ["text"]) },
    async ({ text: words }) => text(words.split(/\s+/).filter(Boolean).length),
  );
  server.registerTool(
    "shift_date",
    {
      description: "Gives the date that lies a number of days after another.",
      inputSchema: object({ day: { type: "string", format: "date" }, days: { type: "integer", default: 1 } }, ["day"]),
    },
    async ({ day, days = 1 }) => text(new Date(Date.parse(day) + days * 86_400_000).toISOString().slice(0, 10)),
  );
  server.registerTool(
    "to_fahrenheit",
    {
      description: "Converts a temperature from degrees Celsius to degrees Fahrenheit.",
      inputSchema: object({ celsius: { type: "number" } }, ["celsius"]),
    },
    async ({ celsius }) => text((celsius * 9) / 5 + 32),
  );
  return server;
}

const port = Number(process.argv[2]);
const handler = createMcpHandler(newServer, { legacy: "reject" });

// The package speaks the Fetch API; this is the way from Node's own server to it and back.
createServer(async (request, response) => {
  if (new URL(request.url, "http://127.0.0.1").pathname !== "/mcp") {
    response.writeHead(404).end();
    return;
  }
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = chunks.length === 0 ? undefined : Buffer.concat(chunks);
  const headers = Object.entries(request.headers).map(([name, value]) => [name, String(value)]);
  const url = `http://127.0.0.1:${port}${request.url}`;
  const answer = await handler.fetch(new Request(url, { method: request.method, headers, body }));
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  response.end(Buffer.from(await answer.arrayBuffer()));
}).listen(port, "127.0.0.1");

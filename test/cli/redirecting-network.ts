import { createServer } from 'node:http';
import { join } from 'node:path';
import { runCommandLine } from '../../src/cli/commands.ts';
import { memoryTerminal } from '../support/memory-terminal.ts';

/*
 * Plans the jobs of a workspace while a server at a public address redirects each request to one at a private address.
 * Prints the error of each job, and how many requests the two servers got.
 */
const [publicAddress = '', privateAddress = '', workspace = ''] = process.argv.slice(2);
const PORT = 8080;
const seen = { redirected: 0, read: 0 };
const redirecting = createServer((request, response) => {
  seen.redirected += 1;
  response.writeHead(302, { location: `http://${privateAddress}:${PORT}${request.url}` }).end();
});
const hidden = createServer((_request, response) => {
  seen.read += 1;
  response.end('code,name,email,id\na,Secret,ann@mail.example,7\n');
});
await new Promise<void>((resolve) => redirecting.listen(PORT, publicAddress, resolve));
await new Promise<void>((resolve) => hidden.listen(PORT, privateAddress, resolve));

const errors: Record<string, string> = {};
for (const job of ['looked-up', 'joined', 'crossed']) {
  const { terminal, out, err } = memoryTerminal();
  await runCommandLine(['-C', join(workspace), 'plan', job], terminal);
  errors[job] = `${out()}${err()}`.replaceAll(/\s+/g, ' ');
}
process.stdout.write(JSON.stringify({ ...errors, ...seen }), () => process.exit());

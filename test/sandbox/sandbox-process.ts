import { startSandbox } from '../../src/sandbox/start-sandbox.ts';

/** A sandbox in a process of its own, to be killed: prints its url. Arguments: data folder, key. */
const [dataDir, apiKey = ''] = process.argv.slice(2);
const sandbox = await startSandbox({ port: 0, dataDir, apiKey });
console.log(sandbox.url);

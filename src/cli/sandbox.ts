import { startSandbox } from '../sandbox/start-sandbox.ts';
import { aborted, interruptSignal } from './interrupt-signal.ts';
import type { Invocation } from './invocation.ts';
import { SANDBOX_DEFAULTS } from './sandbox-defaults.ts';

interface SandboxCommandOptions {
  readonly port: number;
  readonly data?: string;
  readonly apiKey: string;
  readonly failRate: number;
  readonly latency: number;
  readonly requestsPerSecond?: number;
}

/** Serves the sandbox until it is interrupted. */
export async function sandbox(
  { terminal }: Invocation,
  { port, data, apiKey, failRate, latency, requestsPerSecond }: SandboxCommandOptions,
): Promise<number> {
  const stop = interruptSignal(() => {});
  const server = await startSandbox({
    port,
    dataDir: data,
    apiKey,
    failRate,
    latencyMs: latency,
    requestsPerSecond,
  });
  terminal.out(`The sandbox listens at ${server.url}\n`);
  if (apiKey === SANDBOX_DEFAULTS.apiKey) terminal.out(`Its API key:     ${apiKey}\n`);
  terminal.out(`What it holds:   ${server.url}/_sandbox/products and /_sandbox/contacts (same key)\n`);
  terminal.out(`Its description: ${server.url}/openapi.json\n`);
  terminal.out('Stop it with Ctrl-C.\n');
  await aborted(stop);
  await server.close();
  return 0;
}

import { InvalidArgumentError } from 'commander';
import { isProfile, PROFILES, type Profile, startSandbox } from '../../sandbox/start-sandbox.ts';
import { defineCommand, optionalOption, parsedOption, text, wholeNumber } from '../define-command.ts';
import { untilAborted } from '../interrupt-signal.ts';

const DEFAULT_PORT = 4010;
/** The sandbox with its default address and key. */
export const SANDBOX = { url: `http://127.0.0.1:${DEFAULT_PORT}`, apiKey: 'sandbox-key' } as const;

/** `storeferry sandbox`: serves a storefront until it is interrupted. */
export const sandboxCommand = defineCommand({
  arguments: {},
  options: {
    port: parsedOption('n', 'the port, on this machine only', DEFAULT_PORT, wholeNumber(0, 65_535)),
    data: text('dir', 'the folder for its data; default: in memory'),
    apiKey: parsedOption('key', 'the API key of requests', SANDBOX.apiKey, (key) => key),
    failRate: parsedOption('share', 'answer this share with 503', 0, share),
    latency: parsedOption('ms', 'delay every answer', 0, wholeNumber(0, 600_000)),
    requestsPerSecond: optionalOption('n', 'answer further ones with 429', wholeNumber(1, 1_000_000)),
    profile: optionalOption(
      'names',
      `how the store differs from the API document: ${Object.keys(PROFILES).join(', ')}`,
      profiles,
    ),
  },
  notes: `Profiles:\n${Object.entries(PROFILES)
    .map(([name, what]) => `  ${name.padEnd(18)} ${what}`)
    .join('\n')}`,
  examples: [
    'sandbox',
    'sandbox --port 4010 --data shop --api-key K --fail-rate 0.05',
    'sandbox --profile extended,replace-whole',
  ],
  async run({ terminal, interruptSignal }, _, options) {
    const { port, data, apiKey, failRate, latency, requestsPerSecond, profile } = options;
    const stop = interruptSignal();
    const server = await startSandbox({
      port,
      apiKey,
      failRate,
      requestsPerSecond,
      dataDir: data,
      latencyMs: latency,
      profiles: profile,
    });
    terminal.out(`The sandbox listens at ${server.url}\n`);
    if (apiKey === SANDBOX.apiKey) terminal.out(`Its API key:     ${apiKey}\n`);
    terminal.out(`Its data:        ${server.url}/_sandbox/products and /_sandbox/contacts (same key)\n`);
    terminal.out(`Its description: ${server.url}/openapi.json\n`);
    terminal.out('Stop it with Ctrl-C.\n');
    await untilAborted(stop);
    await server.close();
    return 0;
  },
});

/** Parses a share from 0 to 1. */
function share(typed: string) {
  const value = Number(typed);
  if (typed.trim() !== '' && value >= 0 && value <= 1) return value;
  throw new InvalidArgumentError('Expected a share from 0 to 1, such as 0.05.');
}

function profiles(typed: string, before: readonly Profile[] = []): readonly Profile[] {
  const names = typed.split(',').map((name) => name.trim());
  const unknown = names.find((name) => !isProfile(name));
  if (unknown !== undefined)
    throw new InvalidArgumentError(`Expected some of ${Object.keys(PROFILES).join(', ')}.`);
  return [...before, ...names.filter(isProfile)];
}

import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { patience } from '../support/pace.ts';
import { succeeds } from '../support/processes.ts';
import { describeWithRedis } from '../support/redis.ts';
import { type Block, blocksIn, commandsOf, fileOf } from './document-blocks.ts';
import { readDocument } from './reference.ts';
import { asSample, type SampleIds, shows } from './sample-output.ts';
import { Scene } from './scene.ts';
import { SCENES } from './scenes.ts';

const ROOT = join(import.meta.dirname, '..', '..');

/** Some documents have two dozen commands, each a process. */
const PATIENCE_MS = patience(300_000);

/** What cannot be typed here. `fresh clone`: .ci/run types it. `install`: test/packaging/dist.test.ts does. */
const NOT_RUN = ['docker', 'nginx', 'systemd', 'apt', 'fresh clone', 'install'];

/** With this set, outputs that documents show are rewritten instead of compared (`npm run docs:outputs`). */
const WRITES = (process.env['STOREFERRY_WRITE_OUTPUTS'] ?? '') !== '';

/** Types a document's commands from top to bottom, and gives the document with the outputs it shows as they were. */
async function typeAll(file: string): Promise<{ readonly typed: number; readonly document: string }> {
  const before = readDocument(file);
  const outputs: { readonly block: Block; readonly sample: string }[] = [];
  let scene: Scene | undefined;
  let printed = '';
  let typed = 0;
  const ids: SampleIds = { known: new Map() };
  try {
    for (const block of blocksIn(before)) {
      const at = `${file}:${block.line}`;
      const name = block.notes.get('scene');
      if (name !== undefined) {
        const setUp = SCENES[name];
        if (setUp === undefined) throw new Error(`${at}: there is no scene ${name}`);
        await scene?.[Symbol.asyncDispose]();
        scene = await Scene.open(await setUp());
      }
      if (block.notes.has('output')) {
        const sample = asSample(printed, ids);
        if (WRITES && !shows(block.content, sample)) outputs.push({ block, sample });
        else if (!shows(block.content, sample))
          expect(block.content, `${at} (npm run docs:outputs)`).toBe(sample);
        continue;
      }
      const shown = fileOf(block);
      if (scene !== undefined && shown !== undefined) await scene.save(shown.name, shown.content);
      if (!isTyped(block)) continue;
      if (scene === undefined) throw new Error(`${at}: no scene is named above these commands`);
      printed = await typeBlock(scene, block, at);
      typed += commandsOf(block).length;
    }
    return { typed, document: withOutputs(before, outputs) };
  } finally {
    await scene?.[Symbol.asyncDispose]();
  }
}

function withOutputs(
  document: string,
  outputs: readonly { readonly block: Block; readonly sample: string }[],
) {
  const lines = document.split('\n');
  for (const { block, sample } of outputs.toReversed()) {
    lines.splice(block.line - 1, block.content === '' ? 0 : block.content.split('\n').length, sample);
  }
  return lines.join('\n');
}

/** Programs of the system that documents name; CI has them all. */
const OUTSIDE = ['curl', 'redis-cli', 'redis-server', 'sqlite3'];

/** A program that a command needs and this machine lacks. Where the environment demands all (`CI`), none is. */
function lacking(command: string): string | undefined {
  const [program = ''] = command.split(' ');
  if (!OUTSIDE.includes(program) || process.env['CI']) return undefined;
  return succeeds('which', program) ? undefined : program;
}

/** Types the commands of a block, and gives what they print to standard output. */
async function typeBlock(scene: Scene, block: Block, at: string): Promise<string> {
  const meanwhile = block.notes.get('meanwhile');
  if (meanwhile !== undefined) expect((await scene.type(meanwhile)).code, `${at}: ${meanwhile}`).toBe(0);
  const says = block.notes.get('goes on and says');
  const expected = (block.notes.get('ends with') ?? '0').split(', ').map(Number);
  let printed = '';
  for (const [index, command] of commandsOf(block).entries()) {
    const missing = lacking(command);
    if (missing !== undefined) {
      process.stdout.write(`skipped at ${at}, no ${missing}\n`);
      break;
    }
    if (says !== undefined) {
      await scene.leave(command, says);
      continue;
    }
    const { code, stdout, stderr } = await scene.type(command);
    const wanted = expected.length === 1 ? expected[0] : expected[index];
    expect(code, `${at}: ${command}\n${stdout}${stderr}`).toBe(wanted);
    printed += stdout;
  }
  return printed;
}

const DOCUMENTS = ['README.md', ...globSync('docs/*.md', { cwd: ROOT }).sort()];
const BLOCKS = DOCUMENTS.flatMap((file) => blocksIn(readDocument(file)).map((block) => ({ file, ...block })));
const needsRedis = (file: string) =>
  BLOCKS.some((block) => block.file === file && block.notes.get('scene') === 'shared workspace');

async function judge(file: string): Promise<void> {
  const { typed, document } = await typeAll(file);
  if (WRITES) writeFileSync(join(ROOT, file), document);
  const commands = BLOCKS.filter((block) => block.file === file && isTyped(block)).flatMap(commandsOf);
  expect(typed).toBe(commands.length);
}

function isTyped({ language, notes }: Block): boolean {
  return language === 'sh' && !notes.has('not run');
}

describe('the commands in', () => {
  it.concurrent.each(DOCUMENTS.filter((file) => !needsRedis(file)))(
    '%s do what they say',
    { timeout: PATIENCE_MS },
    judge,
  );
});

describeWithRedis('the commands with workers in', () => {
  it.concurrent.each(DOCUMENTS.filter(needsRedis))('%s do what they say', { timeout: PATIENCE_MS }, judge);
});

describe('the documents', () => {
  it('leave nothing untyped but what needs a machine of its own', () => {
    const reasons = BLOCKS.flatMap(({ notes }) => notes.get('not run') ?? []);
    expect(reasons.filter((reason) => !NOT_RUN.includes(reason))).toEqual([]);
    expect(reasons.length).toBeLessThanOrEqual(16);
  });

  it('have their commands from a fresh clone typed by CI', () => {
    const fresh = BLOCKS.filter(({ notes }) => notes.get('not run') === 'fresh clone').flatMap(commandsOf);
    const ci = readFileSync(join(ROOT, '.ci', 'run'), 'utf8');
    const steps = fresh.flatMap((command) =>
      command
        .replace(/#.*/, '')
        .split('&&')
        .map((step) => step.trim()),
    );
    expect(steps).not.toEqual([]);
    for (const step of steps) expect(ci).toContain(step === 'npm test' ? 'npm run check' : step);
  });

  it('have only blocks that something judges', () => {
    const judged = ['sh', 'yaml', 'ini', 'json', 'csv', 'text', 'nginx', 'caddy'];
    const unknown = BLOCKS.filter(({ language }) => !judged.includes(language));
    expect(unknown.map(({ file, line, language }) => `${file}:${line} ${language}`)).toEqual([]);
    for (const block of BLOCKS) {
      const { file, line, language, notes } = block;
      if (language === 'yaml' && !notes.has('prometheus')) {
        expect(fileOf(block)?.name, `${file}:${line} has a name in its first line`).toBeDefined();
      }
      if (language === 'nginx' || language === 'caddy')
        expect(notes.get('not run'), `${file}:${line}`).toBe('nginx');
    }
  });
});

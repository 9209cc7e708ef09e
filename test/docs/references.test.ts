import { existsSync, globSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCommandLine } from '../../src/cli/commands.ts';
import { memoryTerminal } from '../support/memory-terminal.ts';
import { readDocument } from './reference.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const DOCUMENTS = [...globSync('*.md', { cwd: ROOT }).sort(), ...globSync('docs/*.md', { cwd: ROOT }).sort()];

async function help(...command: readonly string[]): Promise<string> {
  const { terminal, out } = memoryTerminal();
  await runCommandLine([...command, '--help'], terminal);
  return out();
}

/** The commands there are. */
async function commandNames(): Promise<string[]> {
  const names = [...(await help()).matchAll(/^ {2}([a-z]+)(?= |$)/gm)].map(([, name = '']) => name);
  return [...new Set(names)].filter((name) => name !== 'help');
}

/** The anchors of a document's headings, as GitHub makes them. */
function anchorsOf(document: string): string[] {
  return [...document.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

describe('the documents', () => {
  it('name every command of the program in the table of the README, and no other', async () => {
    const readme = readDocument('README.md');
    const [, rows = ''] = /^## Commands\n+((?:\|.*\n)+)/m.exec(readme) ?? [];
    const printed = [...rows.matchAll(/`([a-z]+)/g)].map(([, name]) => name);
    expect(printed.toSorted()).toEqual((await commandNames()).toSorted());
  });

  it('name every shipped mapping', () => {
    const documents = DOCUMENTS.map(readDocument).join();
    const shipped = globSync('*.yaml', { cwd: join(ROOT, 'mappings') });
    expect(shipped.length).toBeGreaterThan(0);
    expect(shipped.filter((file) => !documents.includes(`\`${basename(file, '.yaml')}\``))).toEqual([]);
  });

  it('speak of commands and options that there are, in sentences too', async () => {
    const known = new Map<string, string>();
    for (const name of await commandNames()) known.set(name, await help(name));
    const wrong: string[] = [];
    for (const file of DOCUMENTS) {
      for (const [, command = ''] of readDocument(file).matchAll(/`storeferry ([^`]+)`/g)) {
        const [name = '', ...words] = command.replace(/^-C \S+ /, '').split(' ');
        const options = words.filter((word) => word.startsWith('--'));
        const text = known.get(name);
        if (text === undefined || !options.every((option) => text.includes(option))) {
          wrong.push(`${file}: storeferry ${command}`);
        }
      }
    }
    expect(wrong).toEqual([]);
  });

  it.each(DOCUMENTS)('%s has links that lead somewhere', (file) => {
    // A note may hold a command with a pattern such as `[.]([0-9]{2})`.
    const document = readDocument(file).replaceAll(/^<!--.*-->$/gm, '');
    const wrong = [...document.matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, link = '']) => {
      if (/^https?:/.test(link)) return [];
      const [path = '', anchor] = link.split('#');
      const target = path === '' ? file : join(dirname(file), path);
      if (!existsSync(join(ROOT, target))) return [link];
      return anchor === undefined || anchorsOf(readDocument(target)).includes(anchor) ? [] : [link];
    });
    expect(wrong).toEqual([]);
  });
});

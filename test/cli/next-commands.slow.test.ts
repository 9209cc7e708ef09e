import { describe, expect, it } from 'vitest';
import { runCommandLine } from '../../src/cli/commands.ts';
import { typedProgram, withProgram } from '../../src/cli/typed-program.ts';
import { shellWord } from '../../src/text/printable.ts';
import { memoryTerminal } from '../support/memory-terminal.ts';
import { setupNightly } from '../support/nightly.ts';
import { unauthorized } from '../support/store/faults.ts';

describe('the commands to type next', () => {
  it('reach the same workspace when they are copied', async () => {
    await using setup = await setupNightly(3);
    const { dir, storeferry } = setup.workspace;
    const plan = await storeferry('plan', 'nightly');
    expect(plan.stdout).toMatch(new RegExp(`^ +storeferry -C ${dir} approve \\w+$`, 'm'));
    expect(plan.stdout).toContain(`    storeferry -C ${dir} run nightly\n`);

    setup.store.misbehave({ does: unauthorized });
    const failed = await storeferry('run', 'nightly');
    expect(failed.stdout).toContain(`    storeferry -C ${dir} run nightly\n`);
  });

  it('reach it in the hints of errors too', async () => {
    await using setup = await setupNightly(1);
    const { dir } = setup.workspace;
    const { terminal, err } = memoryTerminal();
    expect(await runCommandLine(['-C', dir, 'runs', 'k3f9'], terminal)).toBe(2);
    expect(err()).toBe(`There is no run k3f9.\n\`storeferry -C ${dir} runs\` lists the latest.\n`);
  });

  it('reach it whichever command a text names, but for those that need none', async () => {
    const { terminal, out } = memoryTerminal();
    await runCommandLine(['--help'], terminal);
    const commands = [...out().matchAll(/^ {2}([a-z]+) .*/gm)].map(([, name = '']) => name);
    expect(commands).toContain('dashboard');
    const left = commands.filter((name) => withProgram(`storeferry ${name} X`, 'P') !== `P ${name} X`);
    expect(left).toEqual(['init', 'sandbox', 'schema', 'demo', 'help']);
  });

  it('name the workspace only where -C did, and npm only where npm started it', () => {
    expect(typedProgram(undefined, {})).toBe('storeferry');
    expect(typedProgram('shop', { npm_lifecycle_event: 'npx' })).toBe('storeferry -C shop');
    expect(typedProgram('shop', { npm_lifecycle_event: 'storeferry' })).toBe(
      'npm run --silent storeferry -- -C shop',
    );
  });

  it('quote a folder as the shell needs it', () => {
    expect(shellWord('/srv/shop-1', 'linux')).toBe('/srv/shop-1');
    expect(shellWord("Ada's shop", 'linux')).toBe(`'Ada'\\''s shop'`);
    expect(shellWord('~shop', 'linux')).toBe("'~shop'");
    expect(shellWord('', 'linux')).toBe("''");
    expect(shellWord('C:\\my shop', 'win32')).toBe('"C:\\my shop"');
    expect(shellWord('C:\\shop', 'win32')).toBe('C:\\shop');
  });
});

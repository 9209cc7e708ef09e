import type { ChildProcess } from 'node:child_process';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { patience } from '../support/pace.ts';
import { signalGroup, startProcess } from '../support/processes.ts';
import { storeferryMain } from '../support/workspace.ts';

/** How long a command may take to end, or to say that it goes on, or to end when it is asked to. */
const PATIENCE_MS = patience(120_000);

/** How a command of a document ended. */
export interface Typed {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** What a reader of a document has before the first command. */
export interface SceneSetting {
  /** Where commands are typed, below the scene's folder. */
  readonly folder?: string;
  /** Files, by their names below the scene's folder. */
  readonly files: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  /** What stands for something else in the document: `https://shop.example` -> the address of a sandbox. */
  readonly stands?: Readonly<Record<string, string>>;
  /** Ends what the setting has started. */
  readonly close?: () => Promise<void>;
}

/** A folder in which a document's commands are typed one after the other. */
export class Scene {
  readonly #dir: string;
  readonly #setting: SceneSetting;
  readonly #left = new Set<ChildProcess>();
  #latestRun = 'RUN';

  private constructor(dir: string, setting: SceneSetting) {
    this.#dir = dir;
    this.#setting = setting;
  }

  static async open(setting: SceneSetting): Promise<Scene> {
    const dir = await mkdtemp(join(tmpdir(), 'storeferry-docs-'));
    const scene = new Scene(dir, setting);
    await mkdir(scene.#cwd, { recursive: true });
    for (const [name, content] of Object.entries(setting.files)) await scene.#write(join(dir, name), content);
    const program = join(dir, 'bin', 'storeferry');
    await scene.#write(program, `#!/bin/sh\nexec '${process.execPath}' '${storeferryMain()}' "$@"\n`);
    await chmod(program, 0o755);
    return scene;
  }

  get #cwd(): string {
    return join(this.#dir, this.#setting.folder ?? '.');
  }

  /** Writes a file that the document shows, where its commands find it. */
  async save(name: string, content: string): Promise<void> {
    await this.#write(join(this.#cwd, name), this.#real(content));
  }

  /** Types a command and waits for its end. */
  async type(command: string): Promise<Typed> {
    const { child, output } = this.#start(command);
    const late = setTimeout(() => kill(child, 'SIGKILL'), PATIENCE_MS);
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', resolve);
    });
    clearTimeout(late);
    this.#left.delete(child);
    this.#latestRun = [...output.stdout.matchAll(/\(run (\w{8})\)/g)].at(-1)?.[1] ?? this.#latestRun;
    return { code, stdout: this.#shown(output.stdout), stderr: this.#shown(output.stderr) };
  }

  /** Types a command that goes on, and waits until it has said this. Throws when it ends before. */
  async leave(command: string, says: string): Promise<void> {
    const { child, output } = this.#start(command);
    await new Promise<void>((resolve, reject) => {
      const heard = () => {
        if (output.stdout.includes(says) || output.stderr.includes(says)) resolve();
      };
      child.stdout?.on('data', heard);
      child.stderr?.on('data', heard);
      const shownText = () => `${command}\n${output.stdout}${output.stderr}`;
      child.once('close', (code) =>
        reject(new Error(`ended with ${code} before it said '${says}': ${shownText()}`)),
      );
      setTimeout(() => reject(new Error(`did not say '${says}': ${shownText()}`)), PATIENCE_MS).unref();
    });
  }

  /** Ends what is left, and removes the folder. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#left].map(stop));
    await this.#setting.close?.();
    await rm(this.#dir, { recursive: true, force: true, maxRetries: 3 });
  }

  #start(command: string) {
    const path = [join(this.#dir, 'bin'), dirname(process.execPath), process.env['PATH']].join(delimiter);
    const child = startProcess('bash', ['-o', 'pipefail', '-c', this.#real(command)], {
      cwd: this.#cwd,
      env: { PATH: path, HOME: this.#dir, ...this.#setting.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#left.add(child);
    const output = { stdout: '', stderr: '' };
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output.stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      output.stderr += text;
    });
    return { child, output };
  }

  async #write(path: string, content: string): Promise<void> {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, content);
  }

  /** What the document writes, with what it stands for here. */
  #real(text: string): string {
    const stands = Object.entries(this.#setting.stands ?? {});
    return stands
      .reduce((shownText, [sample, real]) => shownText.replaceAll(sample, real), text)
      .replaceAll(/\bRUN\b/g, () => this.#latestRun);
  }

  /** What was printed here, as the document has it. */
  #shown(text: string): string {
    const stands = Object.entries(this.#setting.stands ?? {});
    return stands
      .reduce((shownText, [sample, real]) => shownText.replaceAll(real, sample), text)
      .replaceAll(`${this.#cwd}/`, '')
      .replaceAll(this.#dir, '/home/me');
  }
}

/** Ends a command and what it has started: first as an operator would. */
async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once('close', resolve));
  kill(child, 'SIGTERM');
  // Redis ignores it while it writes its first append-only file.
  const again = setInterval(() => kill(child, 'SIGTERM'), 1_000);
  const late = setTimeout(() => kill(child, 'SIGKILL'), PATIENCE_MS);
  await gone;
  clearInterval(again);
  clearTimeout(late);
}

/** Signals a command and what it has started; both may have ended by then. */
function kill({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid !== undefined) signalGroup(pid, signal);
}

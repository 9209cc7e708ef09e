/** A fenced block of a document, with what the comments right above it say about it. */
export interface Block {
  /** The word after the fence: `sh`, `yaml`, `text`; empty when there is none. */
  readonly language: string;
  readonly content: string;
  /** Where its content begins, from 1. */
  readonly line: number;
  /** `<!-- ends with: 3 -->` is `ends with` -> `3`; `<!-- output -->` is `output` -> empty. */
  readonly notes: ReadonlyMap<string, string>;
}

const NOTE = /^<!-- ([a-z ]+?)(?:: (.*))? -->$/;
const FENCE = /^```(\w*)$/;

/** The fenced blocks of a document, from top to bottom. Throws where a fence is not closed. */
export function blocksIn(document: string): Block[] {
  const lines = document.split('\n');
  const blocks: Block[] = [];
  let notes = new Map<string, string>();
  for (let index = 0; index < lines.length; index += 1) {
    const line = lines[index] ?? '';
    const [, name, value = ''] = NOTE.exec(line) ?? [];
    const [, language] = FENCE.exec(line) ?? [];
    if (language !== undefined) {
      const end = lines.indexOf('```', index + 1);
      if (end === -1) throw new Error(`The fence of line ${index + 1} is not closed.`);
      const content = lines.slice(index + 1, end).join('\n');
      blocks.push({ language, content, line: index + 2, notes });
      index = end;
    }
    if (name === undefined) notes = new Map();
    else notes.set(name, value);
  }
  return blocks;
}

/** The file that a block shows, by the comment in its first line or above it; undefined for other blocks. */
export function fileOf({
  content,
  notes,
}: Block): { readonly name: string; readonly content: string } | undefined {
  const above = notes.get('file');
  if (above !== undefined) return { name: above, content: `${content}\n` };
  const [, name, text] = /^# (\S+\.(?:yaml|env)|\.env)\n([\s\S]*)$/.exec(content) ?? [];
  return name === undefined || text === undefined ? undefined : { name, content: `${text}\n` };
}

/** The files that a document shows, by their names. */
export function filesIn(document: string): Record<string, string> {
  const files = blocksIn(document).flatMap((block) => fileOf(block) ?? []);
  return Object.fromEntries(files.map(({ name, content }) => [name, content]));
}

/** The commands of a block as a shell reads them: comments left out, continued lines joined. */
export function commandsOf({ content }: Block): string[] {
  return content
    .replaceAll('\\\n', '')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
}

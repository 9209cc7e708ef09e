import { readFileSync } from 'node:fs';
import { parseYaml, type YamlFile } from './yaml-file.ts';

function unreadable(file: string, message: string): YamlFile {
  return { file, content: null, problems: [{ place: { file }, message }], placeOf: () => ({ file }) };
}

/** The bytes of a file as YAML; undefined when there is no such file. What is wrong with it is in its problems. */
export function readYaml(path: string, file: string): YamlFile | undefined {
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    return code === 'ENOENT' ? undefined : unreadable(file, `the file cannot be read (${code})`);
  }
  try {
    return parseYaml(new TextDecoder('utf-8', { fatal: true }).decode(bytes), file);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return unreadable(file, 'the file is not in UTF-8; save it as UTF-8');
  }
}

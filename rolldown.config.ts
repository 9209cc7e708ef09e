import { hash } from 'node:crypto';
import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type ChunkingContext, defineConfig, type Plugin } from 'rolldown';
import { type KnownContent, parseYaml } from './src/config/yaml-file.ts';
import { sourcesDigest } from './src/mapping/map-tables.ts';

const SRC = join(import.meta.dirname, 'src');
const MODULES = join(import.meta.dirname, 'node_modules');
const MAPPINGS = join(import.meta.dirname, 'mappings');

/** Files that the code opens beside itself (`new URL('report.css', import.meta.url)`), by their place in dist/cli/. */
const FILES = {
  'node-version.cjs': join(SRC, 'cli', 'node-version.cjs'),
  'report.css': join(SRC, 'report', 'html', 'report.css'),
  public: join(SRC, 'dashboard', 'public'),
  'bull-board/dist': join(MODULES, '@bull-board', 'ui', 'dist'),
};

/**
 * `npm run build`: what is published, with the packages it uses, so that an installation is this package alone and a
 * command loads few files. All code is in dist/cli/, as deep as the folders of src/: paths such as `../../mappings`
 * mean the same in both. Names and lines are kept for stack traces.
 */
export default defineConfig({
  input: {
    main: join(SRC, 'cli', 'main.ts'),
    thread: join(SRC, 'state', 'sqlite', 'thread.ts'),
    'convert-thread': join(SRC, 'tables', 'convert-thread.ts'),
    'guess-thread': join(SRC, 'run', 'guess-thread.ts'),
  },
  platform: 'node',
  // The first file an old Node reads; and native parts, which their packages do without.
  external: [/node-version\.cjs$/, /\.node$/, 'cpu-features', 'msgpackr-extract'],
  makeAbsoluteExternalsRelative: false,
  transform: {
    define: {
      BUILT_SOURCES_DIGEST: JSON.stringify(sourcesDigest()),
      __dirname: 'import.meta.dirname',
      __filename: 'import.meta.filename',
    },
  },
  plugins: [splitRequired(), getBuiltins(), copyFiles(), emitMappings(), emitLicenses()],
  output: {
    // Documentation is for readers of the sources.
    comments: { jsdoc: false },
    ...{ dir: 'dist', cleanDir: true, entryFileNames: 'cli/[name].js', chunkFileNames: 'cli/[name].js' },
    codeSplitting: {
      includeDependenciesRecursively: false,
      groups: [{ name: chunkOf, debugName: 'together' }],
    },
  },
  // Of packages; a test runs the code that remains.
  checks: { eval: false },
});

/**
 * The chunk of modules that commands need together; null for all others, which the bundler keeps apart by who needs
 * them. A file costs half a millisecond, but code that is loaded without need costs more: the thread of the database
 * gets no chunk of the commands.
 */
function chunkOf(id: string, context: ChunkingContext): string | null {
  const needs = (entry: string) => reached(join(SRC, entry), context).has(id);
  const starts = needs('cli/run-command-line.ts') || needs('cli/terminal.ts');
  if (needs('state/sqlite/thread.ts')) return starts ? 'base' : 'thread-modules';
  if (starts) return 'start';
  return needs('cli/commands/runs-command.ts') && needs('cli/commands/check-command.ts') ? 'common' : null;
}

const reachedFrom = new Map<string, ReadonlySet<string>>();

/** All modules that an entry imports, those of its modules included, without those it may load later. */
function reached(entry: string, context: ChunkingContext): ReadonlySet<string> {
  const known = reachedFrom.get(entry);
  if (known !== undefined) return known;
  const found = new Set([entry]);
  for (const id of found) for (const next of context.getModuleInfo(id)?.importedIds ?? []) found.add(next);
  // What is loaded for its modules must not begin to work.
  found.delete(entry);
  reachedFrom.set(entry, found);
  return found;
}

/**
 * Puts each package that src/ loads on first use without waiting, `createRequire(import.meta.url)('package')`, into a
 * file of its own.
 */
function splitRequired(): Plugin {
  const PREFIX = 'required:';
  return {
    name: 'split-required',
    resolveId: (id) => (id.startsWith(PREFIX) ? id : null),
    load: (id) =>
      id.startsWith(PREFIX)
        ? `const it = require('${id.slice(PREFIX.length)}'); export { it as 'module.exports' };`
        : null,
    transform: {
      filter: { id: /\/src\/.*\.ts$/ },
      handler(code) {
        return code.replaceAll(/(?<=createRequire\(import\.meta\.url\)\(\s*')[\w-]+(?=')/g, (name) => {
          this.emitFile({ type: 'chunk', id: `${PREFIX}${name}`, fileName: `cli/required-${name}.js` });
          return `./required-${name}.js`;
        });
      },
    },
  };
}

/**
 * Imports of Node's modules as calls: `import` asks a module for all that it exports, and so loads much of Node that
 * no command needs, such as all of WebCrypto.
 */
function getBuiltins(): Plugin {
  return {
    name: 'get-builtins',
    renderChunk: (code) =>
      code.replaceAll(
        /^import (?:([\w$]+)(?:, )?)?(\{.*\})? ?from "(node:[\w/]+)";$/gm,
        (_, whole: string | undefined, names: string | undefined, module: string) => {
          const taken = [whole, names?.replaceAll(' as ', ': ')].filter((name) => name !== undefined);
          return taken.map((name) => `const ${name} = process.getBuiltinModule("${module}");`).join(' ');
        },
      ),
  };
}

function copyFiles(): Plugin {
  return {
    name: 'copy-files',
    writeBundle() {
      for (const [name, from] of Object.entries(FILES))
        cpSync(from, join('dist', 'cli', name), { recursive: true });
    },
  };
}

/** The content of the shipped mappings, so that commands need not parse their YAML. */
function emitMappings(): Plugin {
  return {
    name: 'emit-mappings',
    generateBundle() {
      for (const file of readdirSync(MAPPINGS).filter((name) => name.endsWith('.yaml'))) {
        const text = readFileSync(join(MAPPINGS, file), 'utf8');
        const known: KnownContent = { sha256: hash('sha256', text), content: parseYaml(text, file).content };
        const source = JSON.stringify(known);
        if (!isDeepStrictEqual(JSON.parse(source), known)) throw new TypeError(`${file} is not JSON`);
        this.emitFile({ type: 'asset', fileName: `cli/mappings/${file.replace('.yaml', '.json')}`, source });
      }
    },
  };
}

/** The licenses of the packages whose code is bundled. */
function emitLicenses(): Plugin {
  return {
    name: 'emit-licenses',
    generateBundle(_, bundle) {
      const code = Object.values(bundle).flatMap((made) => (made.type === 'chunk' ? made.moduleIds : []));
      const folders = new Set([...code, FILES['bull-board/dist']].flatMap(packageFolder));
      const texts = [...folders].sort().map((folder) => {
        const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
        const files = readdirSync(folder).filter((file) => /^(?:licen[cs]e|notice|copying)/i.test(file));
        return [
          `${name} ${version} (${license})`,
          ...files.map((file) => readFileSync(join(folder, file), 'utf8')),
        ];
      });
      const source = texts.map((parts) => parts.join('\n\n').trim()).join(`\n\n${'-'.repeat(80)}\n\n`);
      this.emitFile({ type: 'asset', fileName: 'LICENSES.txt', source: `${source}\n` });
    },
  };
}

/** The folder of the package of a file; none for files of this package. */
function packageFolder(file: string): string[] {
  const [, folder] = /^(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(file) ?? [];
  return folder === undefined ? [] : [folder];
}

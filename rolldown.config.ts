import { createHash, hash } from 'node:crypto';
import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type ChunkingContext, defineConfig, type Plugin } from 'rolldown';
import { isolatedDeclarationSync } from 'rolldown/experimental';
import { type KnownContent, parseYaml } from './src/config/yaml-file.ts';

const SRC = join(import.meta.dirname, 'src');
const MODULES = join(import.meta.dirname, 'node_modules');
/** What programs import from this package. Its exported types need no other file. */
const LIBRARY = join(SRC, 'cli', 'open-workspace.ts');
const MAPPINGS = join(import.meta.dirname, 'mappings');
/** Data files that the code reads with `readPackedYaml`. */
const DATA = [join(SRC, 'onboarding', 'guess', 'words.yaml')];

/** Files that the code opens beside itself (`new URL('report.css', import.meta.url)`), by their place in dist/cli/. */
const FILES = {
  'node-version.cjs': join(SRC, 'cli', 'node-version.cjs'),
  'report.css': join(SRC, 'report', 'html', 'report.css'),
  public: join(SRC, 'dashboard', 'public'),
  'bull-board/dist': join(MODULES, '@bull-board', 'ui', 'dist'),
};

/** The packages that affect how rows are read and cells are mapped. */
const MAPPING_PACKAGES = ['entities', 'papaparse', 're2js', 'sanitize-html'];

/**
 * `npm run build`: what is published, with the packages it uses, so that an installation is this package alone and a
 * command loads few files. All code is in dist/cli/, as deep as the folders of src/: paths such as `../../mappings`
 * mean the same in both. Names and lines are kept for stack traces.
 */
export default defineConfig({
  input: {
    main: join(SRC, 'cli', 'main.ts'),
    'open-workspace': LIBRARY,
    'sqlite-thread': join(SRC, 'state', 'sqlite', 'sqlite-thread.ts'),
    'convert-thread': join(SRC, 'tables', 'convert-thread.ts'),
    'guess-thread': join(SRC, 'onboarding', 'guess-thread.ts'),
    'sqlite-process': join(SRC, 'source', 'sqlite-process.ts'),
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
  plugins: [splitRequired(), getBuiltins(), copyFiles(), emitContents(), emitPackages(), emitTypes()],
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

/** The digest of all code that reads rows and maps them, with its packages; src/run/import/plan-step.ts uses it. */
function sourcesDigest(): string {
  const digest = createHash('sha256');
  for (const folder of ['mapping', 'model', 'text', join('tables', 'csv')]) {
    for (const name of readdirSync(join(SRC, folder), { recursive: true, encoding: 'utf8' }).sort()) {
      if (/\.(?:ts|json)$/.test(name)) digest.update(name).update(readFileSync(join(SRC, folder, name)));
    }
  }
  for (const name of MAPPING_PACKAGES) digest.update(readFileSync(join(MODULES, name, 'package.json')));
  return digest.digest('base64url');
}

/**
 * The chunk of modules that commands need together; null for all others, which the bundler keeps apart by who needs
 * them. A file costs half a millisecond, but code that is loaded without need costs more: the thread of the database
 * gets no chunk of the commands.
 */
function chunkOf(id: string, context: ChunkingContext): string | null {
  const needs = (entry: string) => reached(join(SRC, entry), context).has(id);
  const starts = needs('cli/commands.ts') || needs('cli/terminal.ts');
  if (needs('state/sqlite/sqlite-thread.ts')) return starts ? 'base' : 'thread-modules';
  if (starts) return 'start';
  if (!needs('cli/commands/check-command.ts')) return null;
  if (needs('cli/commands/runs-command.ts')) return 'common';
  return needs('run/import/plan-step.ts') ? 'mapping' : null;
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
      // Comments name modules from the folder of the project, wherever that and its packages are.
      code
        .replaceAll(/^(\/\/(?:#region)?) .*?(?=node_modules\/)/gm, '$1 ')
        .replaceAll(
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

/** The declarations of the library. */
function emitTypes(): Plugin {
  return {
    name: 'emit-types',
    generateBundle() {
      const { code, errors } = isolatedDeclarationSync(LIBRARY, readFileSync(LIBRARY, 'utf8'), {});
      if (errors.length > 0 || code.includes('from '))
        throw new Error(`The types of ${LIBRARY} need other files`);
      this.emitFile({ type: 'asset', fileName: 'cli/open-workspace.d.ts', source: code });
    },
  };
}

/** The content of the shipped mappings and of data files, so that commands need not parse YAML. */
function emitContents(): Plugin {
  return {
    name: 'emit-contents',
    generateBundle() {
      for (const path of DATA) {
        const { content } = parseYaml(readFileSync(path, 'utf8'), path);
        const fileName = `cli/data/${basename(path, '.yaml')}.json`;
        this.emitFile({ type: 'asset', fileName, source: JSON.stringify(content) });
      }
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

/** The licenses of the packages whose code is bundled, and the list of these packages as a CycloneDX document. */
function emitPackages(): Plugin {
  return {
    name: 'emit-packages',
    generateBundle(_, bundle) {
      const code = Object.values(bundle).flatMap((made) => (made.type === 'chunk' ? made.moduleIds : []));
      const folders = new Set([...code, FILES['bull-board/dist']].flatMap(packageFolder));
      const byName = new Map(
        [...folders].map((folder) => bundledPackage(folder)).map((one) => [one.purl, one]),
      );
      const packages = [...byName.values()].sort((one, other) => (one.purl < other.purl ? -1 : 1));
      const texts = packages.map(
        (one) => `${one.name} ${one.version} (${one.license})\n\n${licenseText(one, packages)}`,
      );
      const source = `${texts.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`;
      this.emitFile({ type: 'asset', fileName: 'LICENSES.txt', source });
      const bom = `${JSON.stringify(billOfMaterials(packages), null, 2)}\n`;
      this.emitFile({ type: 'asset', fileName: 'sbom.cdx.json', source: bom });
    },
  };
}

/** The folder of the package of a file; none for files of this package. */
function packageFolder(file: string): string[] {
  const [, folder] = /^(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(file) ?? [];
  return folder === undefined ? [] : [folder];
}

type BundledPackage = ReturnType<typeof bundledPackage>;

function bundledPackage(folder: string) {
  const { name, version, license, licenses, author } = JSON.parse(
    readFileSync(join(folder, 'package.json'), 'utf8'),
  );
  const files = readdirSync(folder).filter((file) => /^(?:licen[cs]e|notice|copying)/i.test(file));
  // Older packages list theirs.
  const named: unknown = license ?? licenses?.[0]?.type;
  if (typeof named !== 'string') throw new Error(`The package ${name} names no license`);
  return {
    name: String(name),
    version: String(version),
    license: named,
    holder: String(author?.name ?? author ?? `the authors of ${name}`),
    text: files
      .sort()
      .map((file) => readFileSync(join(folder, file), 'utf8').trim())
      .join('\n\n'),
    purl: `pkg:npm/${String(name).replace('@', '%40')}@${version}`,
    integrity: integrityOf(folder),
  };
}

/** Where the terms of a license begin that stand behind the name of the holder. */
const TERMS: Readonly<Record<string, RegExp>> = {
  MIT: /^Permission is hereby granted[\s\S]*/m,
  ISC: /^Permission to use, copy, modify[\s\S]*/m,
  'Apache-2.0': /^\s*Apache License\s+Version 2\.0[\s\S]*/m,
};

/** Its own files; for a package without any, the terms of its license as another package has them. */
function licenseText(
  { name, license, text, holder }: BundledPackage,
  all: readonly BundledPackage[],
): string {
  if (text !== '') return text;
  const alike = all.filter((other) => other.license === license && other.text !== '');
  // Of several the shortest, which has least besides the terms.
  const [terms] = alike
    .flatMap((other) => TERMS[license]?.exec(other.text)?.[0] ?? [])
    .sort((one, other) => one.length - other.length || (one < other ? -1 : 1));
  if (terms === undefined) throw new Error(`The license of the package ${name} has no text`);
  return `Copyright (c) ${holder}\n\n${terms.trim()}`;
}

/** The checksum of a package that the lockfile names, in hexadecimal. */
function integrityOf(folder: string): string {
  const { packages } = JSON.parse(readFileSync(join(import.meta.dirname, 'package-lock.json'), 'utf8'));
  const place = folder.slice(folder.indexOf('/node_modules/') + 1);
  const [, base64] = /^sha512-(\S+)$/.exec(packages[place]?.integrity ?? '') ?? [];
  if (base64 === undefined) throw new Error(`The lockfile has no checksum of ${place}`);
  return Buffer.from(base64, 'base64').toString('hex');
}

/** CycloneDX 1.6. Without a time and a number of its own, so that two builds of one commit are equal. */
function billOfMaterials(packages: readonly BundledPackage[]) {
  const { name, version, license } = JSON.parse(
    readFileSync(join(import.meta.dirname, 'package.json'), 'utf8'),
  );
  const purl = `pkg:npm/${name}@${version}`;
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      component: {
        type: 'application',
        'bom-ref': purl,
        name,
        version,
        licenses: [{ license: { id: license } }],
        purl,
      },
    },
    components: packages.map((one) => {
      const [short = '', group] = one.name.split('/').toReversed();
      return {
        type: 'library',
        'bom-ref': one.purl,
        ...(group !== undefined && { group }),
        name: short,
        version: one.version,
        hashes: [{ alg: 'SHA-512', content: one.integrity }],
        licenses: / (?:OR|AND|WITH) /.test(one.license)
          ? [{ expression: one.license }]
          : [{ license: { id: one.license } }],
        purl: one.purl,
      };
    }),
    dependencies: [{ ref: purl, dependsOn: packages.map((one) => one.purl) }],
  };
}

import type { Value } from '../../mapping/spec/mapping-spec.ts';
import { pictureFolderSchema } from '../../model/remote-address.ts';
import { UsageError } from '../../model/storeferry-error.ts';
import { countedShare, type Guess, isCalled, isExactlyCalled } from './guess.ts';
import {
  ADDRESS_SEPARATOR,
  IN_BRACKETS,
  isAddresses,
  isMostly,
  isPictureFile,
  isPictures,
  listedAddresses,
  type SampledColumn,
  shareOf,
  withoutBrackets,
} from './sampled-column.ts';

/** All columns with addresses of pictures, in their order. */
export function draftImages(guess: Guess, isGrouped: boolean): Value | undefined {
  const given = guess.given('images');
  if (given === 'none') return undefined;
  const holds = (column: SampledColumn) => isMostly(column, isAddresses);
  const called = guess.free.filter((column) => isCalled(column, 'image') && column.values.length > 0);
  const pictures = guess.free.filter((column) => isMostly(column, isPictures));
  const addressed = called.filter(holds);
  const [picture, another] = pictures;
  const isGallery =
    another !== undefined && new Set(pictures.map(({ header }) => header.replace(/\d+/, ''))).size === 1;
  // They may be those of certificates, or of a brand.
  if (given === undefined && addressed.length === 0 && picture !== undefined && !isGrouped && !isGallery) {
    const reason = `no header is called an image, and '${picture.header}' has addresses of pictures`;
    guess.askColumn('images', pictures, reason);
    return undefined;
  }
  const found = given !== undefined ? [given] : addressed.length > 0 ? addressed : pictures;
  const files = called.filter((column) => isMostly(column, isPictureFile));
  const partly = called.filter(
    (column) => isExactlyCalled(column, 'image') && shareOf(column, isAddresses) > 0,
  );
  const [some] = found.length > 0 || files.length > 0 ? [] : partly;
  if (some !== undefined) {
    guess.askColumn(
      'images',
      partly,
      `in '${some.header}' ${countedShare(some, isAddresses, 'are web addresses')}`,
    );
    return undefined;
  }
  const [file] = files;
  const base =
    found.length > 0 || file === undefined
      ? undefined
      : guess.ask({
          id: 'imageBase',
          text: 'At which address are the images?',
          reason: `'${file.header}' contains names of files such as ${file.values[0]}, and no addresses`,
          answers: [],
        });
  const [wrong] = base ? (pictureFolderSchema.safeParse(base).error?.issues ?? []) : [];
  if (wrong !== undefined) throw new UsageError(`The address of the images: ${wrong.message}.`);
  const columns = found.length > 0 ? found : base === undefined || base === '' ? [] : files;
  const ordered = columns.toSorted(
    (a, b) => (a.reading.qualifiers.number ?? 0) - (b.reading.qualifiers.number ?? 0),
  );
  const values = ordered.map((column): Value => {
    const several = column.values.filter((value) => listedAddresses(value)[0] !== value);
    guess.claim(
      'images',
      column,
      guess.evidence(
        column,
        ['image'],
        'images',
        base === undefined ? countedShare(column, isAddresses, 'are web addresses') : `below ${base}`,
      ),
      isExactlyCalled(column, 'image') ? 'certain' : 'likely',
    );
    const name = guess.use('image', column);
    if (base !== undefined) {
      const folder = column.values.some((value) => /\\|(?:^|[,;|\s])\//.test(value));
      return [
        name,
        { split: [',', ';', '|'] },
        ...(folder ? [{ replace: '^\\s*(?:.*\\\\|/+)' }] : []),
        { template: `${base.replace(/\/?$/, '/')}{value}` },
      ];
    }
    const [first] = several;
    if (first === undefined) return name;
    const separators = new Set(several.flatMap(separatorsOf));
    const [only = ''] = separators;
    const isPlain =
      separators.size === 1 &&
      only.trim() !== '' &&
      several.every((value) => value.split(only).every((one) => listedAddresses(one)[0] === one.trim()));
    if (separators.size > 0)
      guess.notes.push(
        `'${column.header}' lists several images, separated by ${[...separators].map(named).join(' or ')}.`,
      );
    return isPlain
      ? [name, { split: only }]
      : [
          name,
          ...(several.some((value) => withoutBrackets(value) !== value)
            ? [{ replace: IN_BRACKETS, with: '$1' }]
            : []),
          { replace: `${ADDRESS_SEPARATOR}+((?:https?:)?//|$)`, with: '\n$1' },
          { split: '\n' },
        ];
  });
  const [only, second] = values;
  if (only === undefined) return undefined;
  return second === undefined && !isGrouped ? only : { all: values };
}

const BETWEEN = new RegExp(`(?<!^|${ADDRESS_SEPARATOR})${ADDRESS_SEPARATOR}+(?=(?:https?:)?//)`, 'gi');

function separatorsOf(value: string): readonly string[] {
  return [...withoutBrackets(value).matchAll(BETWEEN)].map(([found]) => found.trim() || found.charAt(0));
}

/** A separator as a sentence names it. */
export function named(separator: string): string {
  return separator === ' ' ? 'a blank' : separator === '\n' ? 'a line break' : `'${separator}'`;
}

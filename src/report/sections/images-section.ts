import { sumOf } from '../../model/json-object.ts';
import {
  type ImageFindings,
  type ImageProblem,
  MAX_CHECKED_IMAGES,
  type PictureFindings,
} from '../../model/plan.ts';
import { counted, formatBytes, grouped, isOrAre, listed } from '../../text/printable.ts';
import type { RunFacts } from '../run-facts.ts';
import { type Block, foreign, paragraph, recordKey, type Section, table, type Words } from '../section.ts';

/** Pictures that are published, and image addresses that were looked at; null if there are neither. */
export function imagesSection({ run, plan }: RunFacts): Section | null {
  const images = plan?.images;
  const blocks = [
    ...(plan?.pictures === undefined ? [] : picturesBlocks(plan.pictures, run)),
    ...(images === undefined || images.addresses === 0 ? [] : addressBlocks(images)),
  ];
  return blocks.length === 0 ? null : { id: 'images', title: 'Images', blocks };
}

function picturesBlocks(
  { from, to, pictures, uploads, bytes, broken }: PictureFindings,
  { pictures: done }: RunFacts['run'],
): Block[] {
  const { uploaded = 0, present = 0 } = done ?? {};
  const planned =
    uploads === 0
      ? `All ${counted(pictures, 'picture')} of the records to send are published already.`
      : `${counted(uploads, 'picture')} (${formatBytes(bytes)}) of ${grouped(pictures)} ${isOrAre(uploads)} to be uploaded${uploads < pictures ? '; the others are published already' : ''}.`;
  const files = sumOf(broken, (problem) => problem.files);
  return [
    paragraph([
      ['Pictures from ', foreign(from), ' for ', foreign(to), '.'],
      pictures > 0 && done === undefined && planned,
      pictures === 0 && 'The records to send name no pictures.',
      done !== undefined &&
        `${counted(uploaded, 'picture')} uploaded${present === 0 ? '' : `, ${grouped(present)} found there`}.`,
      files > 0 &&
        `${counted(files, 'file')} cannot be published. Records that name them are sent without them.`,
    ]),
    ...problemsTable(
      'Files that are no pictures',
      'Files',
      broken.map(({ problem, files: count, examples }) => [
        problem,
        grouped(count),
        { as: 'samples', items: examples.map((name) => foreign(name, 60)) },
      ]),
    ),
  ];
}

function addressBlocks(images: ImageFindings): Block[] {
  const { broken, unknown, unchecked } = images;
  return [
    paragraph([
      imagesWords(images),
      unknown.length > 0 &&
        `${counted(sum(unknown), 'address', 'addresses')} could not be checked: the servers refuse programs or did not answer. This says nothing about the images.`,
      unchecked > 0 &&
        `${counted(unchecked, 'address was', 'addresses were')} left unchecked when the time for this check was over (setting images.withinSeconds), or because a plan checks ${grouped(MAX_CHECKED_IMAGES)} at most. The next plan checks them.`,
      'Nothing is rejected for this: the records are sent as they are.',
    ]),
    ...problemsTable(
      'Problems of image addresses',
      'Addresses',
      [...broken, ...unknown].map(({ problem, addresses, samples }) => [
        foreign(problem),
        grouped(addresses),
        {
          as: 'samples',
          items: samples.map(({ key, address }) => [recordKey(key), ' ', foreign(address, 200)]),
        },
      ]),
    ),
  ];
}

/** `unit`: what is counted. */
function problemsTable(caption: string, unit: string, problems: readonly (readonly Words[])[]) {
  if (problems.length === 0) return [];
  return [
    table(caption, ['Problem', [unit, 'numeric'], ['Examples', 'bare']], problems, {
      shown: { page: 25, text: 8 },
      more: 'problem',
    }),
  ];
}

/** `Images: 3 of 240 new addresses have problems: 2 not found (404), 1 is text/html.` */
function imagesWords({ addresses, broken, unknown, unchecked }: ImageFindings) {
  const all = counted(addresses, 'new address', 'new addresses');
  const bad = sum(broken);
  if (bad === 0) {
    const good = addresses - sum(unknown) - unchecked;
    return good === addresses
      ? `Images: ${all} checked, no problems.`
      : `Images: ${grouped(good)} of ${all} checked, no problems.`;
  }
  const problems = broken.map(({ problem, addresses: count }) => `${grouped(count)} ${problem}`);
  return `Images: ${grouped(bad)} of ${all} ${bad === 1 ? 'has a problem' : 'have problems'}: ${listed(problems)}.`;
}

function sum(problems: readonly ImageProblem[]) {
  return sumOf(problems, ({ addresses }) => addresses);
}

import { type StoreConfig, storeSchema } from '../../config/stores.ts';
import { UsageError } from '../../model/errors.ts';
import type { WorkspaceToBe } from './compose-files.ts';
import type { Asking } from './init-options.ts';

/** Asks for the unit in which a new store shows weights; contacts have none. */
export async function askWeightUnit(
  { options, prompter }: Asking,
  imports: WorkspaceToBe['job']['imports'],
): Promise<StoreConfig['weightUnit']> {
  const units = storeSchema.shape.weightUnit;
  if (options.weightUnit !== undefined) {
    const read = units.safeParse(options.weightUnit);
    if (read.success) return read.data;
    throw new UsageError(`--weight-unit ${options.weightUnit}: expected kg, g, lb or oz.`);
  }
  if (imports === 'contacts' || options.yes === true || prompter === null) return units.parse(undefined);
  return await prompter.choose(
    'In which unit does the store show weights?',
    (['kg', 'g', 'lb', 'oz'] as const).map((value) => ({ value, name: value })),
    'kg',
  );
}

import { z } from 'zod';
import { addProblem, onlyKey, optional } from '../../model/json-object.ts';
import { conditionSchema, valueSchema } from './value.ts';

/** How a cell of a product's row lists the children of the product: `sku=A,size=XS|sku=B,size=S`. */
const childrenSchema = z.strictObject({
  cell: z.string().min(1).describe('The column that lists the children.'),
  items: z.string().min(1).default('|').describe('The separator between two children.'),
  pairs: z.string().min(1).default(',').describe('Between two of its name=value pairs.'),
  equals: z.string().min(1).default('=').describe('Between name and value.'),
  reference: optional(
    z.string().min(1),
    'The pair that names the child; the others are options. Default: the whole item is the name.',
  ),
  except: optional(z.array(z.string().min(1)).min(1), 'With `reference`: pairs that are no options.'),
  labels: optional(z.string().min(1), 'A column with the names of the options, as `code=Name`.'),
});

const fields = z.strictObject({
  by: optional(valueSchema, 'Rows with the same value are one record.'),
  starts: optional(
    conditionSchema,
    'A row that meets this starts a record, to which the following others belong.',
  ),
  parent: optional(
    z.string().min(1),
    'The column that names the parent; where it is blank, the row is a record.',
  ),
  children: optional(childrenSchema, 'The column of a parent row that lists its children.'),
  names: optional(z.array(valueSchema).min(1), 'With `parent` or `children`: how rows are referred to.'),
  rows: optional(
    z.enum(['adjacent', 'anywhere']),
    'With `by`: `adjacent` refuses a record whose rows are apart; `anywhere` collects them.',
  ),
  head: optional(conditionSchema, 'The row that describes the record. Default: the first.'),
  alone: optional(
    conditionSchema,
    'With `children`: a child that meets this is also a record. With `rows: anywhere`: a row that meets it is a record, also with the key of others.',
  ),
});

/** How rows become records; if omitted, every row is one. Exactly one of by, starts, parent, children. */
export const groupSchema = fields.superRefine((group, context) => {
  const main = onlyKey(group, ['by', 'starts', 'parent', 'children'], context);
  if (main === undefined) return;
  const referring = main === 'parent' || main === 'children';
  if (referring && !('names' in group))
    addProblem(context, `${main} needs names: what rows are referred to by`);
  if (!referring && 'names' in group) addProblem(context, `${main} needs no names`, 'names');
  if (main === 'by' && !('rows' in group)) addProblem(context, 'by needs rows: adjacent or anywhere');
  if (referring && group.rows === 'adjacent')
    addProblem(context, `with ${main}, rows may be anywhere`, 'rows');
  if (main === 'starts' && group.rows === 'anywhere')
    addProblem(context, 'with starts, rows must be adjacent', 'rows');
  if ('alone' in group && main !== 'children' && group.rows !== 'anywhere')
    addProblem(context, 'alone goes with children, or with rows: anywhere', 'alone');
  if ('head' in group && (main === 'starts' || main === 'parent'))
    addProblem(context, `with ${main}, the head is known already`, 'head');
});

/** How a cell lists the children of a record. */
export type ChildrenSpec = Readonly<z.infer<typeof childrenSchema>>;
/** How rows become records: exactly one of `by`, `starts`, `parent` and `children`, with its options. */
export type GroupSpec = Readonly<z.infer<typeof groupSchema>>;

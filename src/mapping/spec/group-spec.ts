import { z } from 'zod';
import { addProblem, onlyKey, optional } from '../../model/json-object.ts';
import { conditionSchema, valueSchema } from './value.ts';

/** How a cell of a product's row lists the children of the product: `sku=A,size=XS|sku=B,size=S`. */
const childrenSchema = z.strictObject({
  cell: z.string().min(1).describe('The column that lists the children.'),
  items: z.string().min(1).default('|').describe('The separator between two children.'),
  pairs: z.string().min(1).default(',').describe('The separator between two name=value pairs of a child.'),
  equals: z.string().min(1).default('=').describe('The separator between a name and its value.'),
  reference: optional(
    z.string().min(1),
    'The pair that names the child; the other pairs are its options. Left out: the item itself is the name.',
  ),
  except: optional(
    z.array(z.string().min(1)).min(1),
    'With `reference`: names of pairs that are not options, such as `display`.',
  ),
  labels: optional(z.string().min(1), 'A column with `code=Name` pairs: the names of the options, by code.'),
});

const fields = z.strictObject({
  by: optional(valueSchema, 'Rows with the same value are one record.'),
  starts: optional(
    conditionSchema,
    'A row that meets this condition starts a record; the following rows that do not meet it belong to that record.',
  ),
  parent: optional(
    z.string().min(1),
    'The column that names the parent; a row with a blank one is a separate record.',
  ),
  children: optional(childrenSchema, 'The column of a parent row that lists its children.'),
  names: optional(
    z.array(valueSchema).min(1),
    'With `parent` or `children`: the names by which a row is referred to.',
  ),
  rows: optional(
    z.enum(['adjacent', 'anywhere']),
    'With `by`: `adjacent` refuses rows of one record that are not adjacent; `anywhere` collects them, on disk if there are many.',
  ),
  head: optional(conditionSchema, 'The row that describes the record. Left out: its first row.'),
  alone: optional(
    conditionSchema,
    'With `children`: a child that meets this condition is also a separate record. With `rows: anywhere`: a row that meets it is a separate record, even if other rows have its key.',
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

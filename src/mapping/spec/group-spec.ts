import { z } from 'zod';
import { conditionSchema, valueSchema } from './value.ts';

/** How a cell of a product's row lists the children of the product: `sku=A,size=XS|sku=B,size=S`. */
const childrenSchema = z.strictObject({
  cell: z.string().min(1).describe('The column that lists the children.'),
  items: z.string().min(1).default('|').describe('The separator between two children.'),
  pairs: z.string().min(1).default(',').describe('The separator between two name=value pairs of a child.'),
  equals: z.string().min(1).default('=').describe('The separator between a name and its value.'),
  reference: z
    .string()
    .min(1)
    .exactOptional()
    .describe(
      'The pair that names the child; the other pairs are its options. Left out: the item itself is the name.',
    ),
  except: z
    .array(z.string().min(1))
    .min(1)
    .exactOptional()
    .describe('With `reference`: names of pairs that are not options, such as `display`.'),
  labels: z
    .string()
    .min(1)
    .exactOptional()
    .describe('A column with `code=Name` pairs: the names of the options, by code.'),
});

const fields = z.strictObject({
  by: valueSchema.exactOptional().describe('Rows with the same value are one record.'),
  starts: conditionSchema
    .exactOptional()
    .describe(
      'A row that meets this condition starts a record; the following rows that do not meet it belong to that record.',
    ),
  parent: z
    .string()
    .min(1)
    .exactOptional()
    .describe('The column that names the parent; a row with a blank one is a separate record.'),
  children: childrenSchema.exactOptional().describe('The column of a parent row that lists its children.'),
  names: z
    .array(valueSchema)
    .min(1)
    .exactOptional()
    .describe('With `parent` or `children`: the names by which a row is referred to.'),
  rows: z
    .enum(['adjacent', 'anywhere'])
    .exactOptional()
    .describe(
      'With `by`: `adjacent` refuses rows of one record that are not adjacent; `anywhere` collects them, on disk if there are many.',
    ),
  head: conditionSchema
    .exactOptional()
    .describe('The row that describes the record. Left out: its first row.'),
  alone: conditionSchema
    .exactOptional()
    .describe(
      'With `children`: a child that meets this condition is also a separate record. With `rows: anywhere`: a row that meets it is a separate record, even if other rows have its key.',
    ),
});

/** How rows become records; if omitted, every row is one. Exactly one of by, starts, parent, children. */
export const groupSchema = fields.superRefine((group, context) => {
  const mains = (['by', 'starts', 'parent', 'children'] as const).filter((key) => group[key] !== undefined);
  if (mains.length !== 1) {
    context.addIssue({
      code: 'custom',
      message: `expected one of by, starts, parent, children${mains.length > 1 ? `, found ${mains.join(' and ')}` : ''}`,
    });
    return;
  }
  const [main] = mains;
  const referring = main === 'parent' || main === 'children';
  if (referring !== (group.names !== undefined)) {
    context.addIssue({
      code: 'custom',
      path: referring ? [] : ['names'],
      message: referring ? `${main} needs names: what rows are referred to by` : `${main} needs no names`,
    });
  }
  if (main === 'by' && group.rows === undefined) {
    context.addIssue({ code: 'custom', message: 'by needs rows: adjacent or anywhere' });
  }
  if (referring && group.rows === 'adjacent') {
    context.addIssue({ code: 'custom', path: ['rows'], message: `with ${main}, rows may be anywhere` });
  }
  if (main === 'starts' && group.rows === 'anywhere') {
    context.addIssue({ code: 'custom', path: ['rows'], message: 'with starts, rows must be adjacent' });
  }
  if (group.alone !== undefined && main !== 'children' && group.rows !== 'anywhere') {
    context.addIssue({
      code: 'custom',
      path: ['alone'],
      message: 'alone goes with children, or with rows: anywhere',
    });
  }
  if (group.head !== undefined && (main === 'starts' || main === 'parent')) {
    context.addIssue({ code: 'custom', path: ['head'], message: `with ${main}, the head is known already` });
  }
});

/** How a cell lists the children of a record. */
export type ChildrenSpec = Readonly<z.infer<typeof childrenSchema>>;
/** How rows become records: exactly one of `by`, `starts`, `parent` and `children`, with its options. */
export type GroupSpec = Readonly<z.infer<typeof groupSchema>>;

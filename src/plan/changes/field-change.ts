/** A field that differs between two bodies of one record; undefined where a body has no such field. */
export interface FieldChange {
  /** With its path: `title`, `variants.price`, `properties.Stage`. */
  readonly field: string;
  readonly old: unknown;
  readonly new: unknown;
}

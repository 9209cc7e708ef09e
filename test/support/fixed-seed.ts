/** With STOREFERRY_SEED, properties checked by fast-check try the same cases each time, as other tests with `seedOf`. */
const { STOREFERRY_SEED: given } = process.env;
if (given !== undefined && given !== '') {
  const { default: fc } = await import('fast-check');
  fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(given) });
}

/** How far each label must move, so that none covers another: their places rise, at least `height` apart. */
export function spreadLabels(places: readonly number[], height: number): number[] {
  const order = places.map((place, index) => ({ place, index })).sort((a, b) => a.place - b.place);
  const moved = places.map(() => 0);
  let free = Number.NEGATIVE_INFINITY;
  for (const { place, index } of order) {
    const at = Math.max(place, free);
    moved[index] = at - place;
    free = at + height;
  }
  // What was pushed down in all is shared out, so that the group stands around its middle.
  const shift = moved.reduce((sum, move) => sum + move, 0) / Math.max(1, moved.length);
  return moved.map((move) => move - shift);
}

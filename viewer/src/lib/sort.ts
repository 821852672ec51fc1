// Sorting by a key that may be missing: what was not measured comes last in either direction, and equal keys keep
// their order.

export type SortKey = number | string | null;

export function sorted<R>(rows: readonly R[], key: (row: R) => SortKey, descending: boolean): R[] {
  const sign = descending ? -1 : 1;
  const keyed = rows.map((row, index) => ({ row, index, key: key(row) }));
  keyed.sort((a, b) => {
    if (a.key === b.key) return a.index - b.index;
    if (a.key === null) return 1;
    if (b.key === null) return -1;
    return a.key < b.key ? -sign : sign;
  });
  return keyed.map((entry) => entry.row);
}

/** Distinct non-null values, most frequent spelling order aside: ascending. */
export function distinct(values: (string | null)[]): string[] {
  return [...new Set(values.filter((value): value is string => value !== null))].sort();
}

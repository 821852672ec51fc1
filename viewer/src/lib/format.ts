// Numbers for people. A share that is not 0 never prints as "0 %", one that is not 1 never as "100 %".

const kThin = '\u202f';
const kMinus = '\u2212';

const group = (digits: string): string => digits.replace(/\B(?=(\d{3})+(?!\d))/g, kThin);

/** An integer with thin spaces: 1 234 567. */
export function integer(n: number): string {
  return (n < 0 ? kMinus : '') + group(Math.abs(Math.round(n)).toFixed(0));
}

function significant(x: number): string {
  return x >= 100 ? x.toFixed(0) : x >= 10 ? x.toFixed(1) : x.toFixed(2);
}

function scaled(n: number, base: number, units: string[]): string {
  let i = 0;
  let x = Math.abs(n);
  // 999.6 would print as "1000": step to the next unit where rounding gets there.
  while (i + 1 < units.length && x >= base - 0.5) {
    x /= base;
    i += 1;
  }
  const body = i === 0 && Number.isInteger(x) ? x.toFixed(0) : significant(x);
  return `${n < 0 ? kMinus : ''}${body} ${units[i]}`;
}

export const bytes = (n: number): string => scaled(n, 1024, ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']);
export const flops = (n: number): string => scaled(n, 1000, ['FLOP', 'kFLOP', 'MFLOP', 'GFLOP', 'TFLOP', 'PFLOP']);

export function duration(ns: number): string {
  if (Math.abs(ns) >= 120e9) {
    const seconds = Math.round(ns / 1e9);
    return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  }
  return scaled(ns, 1000, ['ns', 'µs', 'ms', 's']);
}

export function percent(share: number): string {
  const p = share * 100;
  if (p === 0) return '0 %';
  if (Math.abs(p) < 0.01) return `${p < 0 ? '>' + kMinus : '<'}0.01 %`;
  if (p < 100 && p >= 99.995) return '>99.99 %';
  const digits = Math.abs(p) < 1 || p > 99 ? 2 : 1;
  const body = p === 100 ? '100' : Math.abs(p).toFixed(digits);
  return `${p < 0 ? kMinus : ''}${body} %`;
}

const kSuperscript = '⁰¹²³⁴⁵⁶⁷⁸⁹';

export function superscript(n: number): string {
  const digits = String(Math.abs(n)).replace(/\d/g, (d) => kSuperscript[Number(d)]);
  return n < 0 ? `⁻${digits}` : digits;
}

export const pow2 = (exponent: number): string => `2${superscript(exponent)}`;

/** A magnitude: 1.2e-7 style below 1e-4, plain otherwise. */
export function magnitude(x: number): string {
  if (x === 0) return '0';
  const a = Math.abs(x);
  if (a >= 1e-3 && a < 1e6) return Number(x.toPrecision(5)).toString().replace('-', kMinus);
  return x.toExponential(2).replace('e+', 'e').replace(/-/g, kMinus);
}

/** A loss scale: the power of two if it is one, and the number as long as it is short. */
export function scale(x: number): string {
  if (!(x > 0)) return magnitude(x);
  const e = Math.log2(x);
  const plain = x >= 1 && x < 1e9 && Number.isInteger(x) ? integer(x) : magnitude(x);
  if (!Number.isInteger(e) || 2 ** e !== x) return plain;
  return Math.abs(e) <= 3 ? plain : `${pow2(e)} (${plain})`;
}

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${integer(n)} ${n === 1 ? one : many}`;
}

/** "12" if both ends agree, "12 to 15" otherwise. */
export function bound(low: number, high: number, print: (n: number) => string): string {
  return low === high ? print(low) : `${print(low)} to ${print(high)}`;
}

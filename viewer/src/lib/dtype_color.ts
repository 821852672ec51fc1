// One colour per dtype, the same in every view. The colours themselves are CSS variables (style.css), because they
// differ between the dark and the light theme; canvas code reads them here.

const kFamilies: Record<string, string> = {
  float64: 'fp64',
  float32: 'fp32',
  float16: 'fp16',
  bfloat16: 'bf16',
  float8_e4m3fn: 'e4m3',
  float8_e5m2: 'e5m2',
  bool: 'bool',
};

/** Suffix of the CSS class and variable: fp32 fp64 fp16 bf16 e4m3 e5m2 int bool other. */
export function dtypeFamily(dtype: string | null): string {
  if (!dtype) return 'other';
  if (Object.prototype.hasOwnProperty.call(kFamilies, dtype)) return kFamilies[dtype];
  return /^u?int\d+$/.test(dtype) ? 'int' : 'other';
}

export const kDtypeFamilies = ['fp64', 'fp32', 'fp16', 'bf16', 'e4m3', 'e5m2', 'int', 'bool', 'other'];

/** Values of CSS variables by name, for canvas; read again when the theme changes. */
export function readColors(names: string[]): Record<string, string> {
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

export function onThemeChange(act: () => void): void {
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', act);
}

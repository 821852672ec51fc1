// The tests use little of node; its modules are untyped here, so that no package of type declarations is needed.
declare module 'node:assert/strict';
declare module 'node:child_process';
declare module 'node:crypto';
declare module 'node:fs';
declare module 'node:os';
declare module 'node:path';
declare module 'node:test';
declare module 'node:url';
declare module 'node:zlib';
declare const process: {
  argv: string[];
  env: Record<string, string | undefined>;
  cwd(): string;
  exit(code: number): never;
};

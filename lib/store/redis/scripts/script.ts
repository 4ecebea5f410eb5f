import { createHash } from 'node:crypto';

/** A Lua script as the server knows it: called by its hash, sent whole where the server does not know it (yet, or any more). */
export interface Script {
  readonly name: string;
  readonly keys: number;
  readonly lua: string;
  readonly sha: string;
}

/**
 * Makes a script of its text. With `refusedWhenFull` the server refuses it as a whole when memory is out; all others must go on then, since
 * they are what makes memory free again.
 */
export function script(name: string, keys: number, body: string, { refusedWhenFull = false } = {}): Script {
  const lua = `#!lua${refusedWhenFull ? '' : ' flags=allow-oom'}\n${body}`;
  return { name, keys, lua, sha: createHash('sha1').update(lua).digest('hex') };
}

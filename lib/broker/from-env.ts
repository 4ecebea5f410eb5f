import { checkConnection } from '../connection-option.js';
import { show } from '../option-checks.js';
import { OptionError } from '../rillkit.errors.js';
import type { ConnectionOption } from '../rillkit.options.js';

const YES = ['1', 'true', 'yes', 'on'];
const NO = ['0', 'false', 'no', 'off'];

/**
 * Where Redis is, by the environment: `REDIS_URL`; without it `REDIS_HOST` (localhost), `REDIS_PORT` (6379), `REDIS_USERNAME`,
 * `REDIS_PASSWORD`, `REDIS_DB` (0) and `REDIS_SSL` (1, true, yes, on; 0, false, no, off). An empty variable is as good as none.
 * @throws OptionError that names the variable.
 */
export function fromEnv(env: Readonly<Record<string, string | undefined>> = process.env): ConnectionOption {
  const { REDIS_URL, REDIS_HOST, REDIS_PORT, REDIS_USERNAME, REDIS_PASSWORD, REDIS_DB, REDIS_SSL } = env;
  if (REDIS_URL) {
    checkConnection('REDIS_URL', REDIS_URL);
    return REDIS_URL;
  }
  return {
    host: REDIS_HOST || 'localhost',
    port: number('REDIS_PORT', REDIS_PORT, 6_379, 1, 65_535),
    ...(REDIS_USERNAME ? { username: REDIS_USERNAME } : {}),
    ...(REDIS_PASSWORD ? { password: REDIS_PASSWORD } : {}),
    db: number('REDIS_DB', REDIS_DB, 0, 0, 65_535),
    ...(yes('REDIS_SSL', REDIS_SSL) ? { tls: {} } : {}),
  };
}

function number(name: string, text: string | undefined, absent: number, min: number, max: number): number {
  if (!text) return absent;
  const value = /^\d+$/.test(text.trim()) ? Number(text) : NaN;
  if (value >= min && value <= max) return value;
  throw new OptionError(name, `must be a whole number from ${min} to ${max}, not ${show(text)}`);
}

function yes(name: string, text = ''): boolean {
  const word = text.trim().toLowerCase();
  if (YES.includes(word)) return true;
  if (word === '' || NO.includes(word)) return false;
  throw new OptionError(name, `must be one of ${[...YES, ...NO].join(', ')}, or empty, not ${show(text)}`);
}

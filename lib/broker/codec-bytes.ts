import { BodyError } from '../rillkit.errors.js';
import type { Codec } from './codec.js';
import { bodyCodec } from './codec-body.js';

/**
 * The body as it is: a `Buffer` or `Uint8Array` on publish, a `Buffer` of equal bytes in the handler. The bytes are not copied: they must
 * not change before `publish` has ended.
 */
export const bytes = (): Codec => bodyCodec('bytes', write, (body) => body);

function write(body: unknown): Buffer {
  if (Buffer.isBuffer(body)) return body;
  if (body instanceof Uint8Array) return Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  throw new BodyError('The codec bytes() carries a Buffer or a Uint8Array and nothing else.');
}

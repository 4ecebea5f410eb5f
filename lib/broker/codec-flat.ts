import { isUtf8 } from 'node:buffer';
import { BodyError } from '../rillkit.errors.js';
import type { Fields } from '../store/stream-store.js';
import type { Codec, Envelope } from './codec.js';
import { envelopeFields, isEnvelopeField, OWN_PREFIX, readHeaders } from './envelope.js';

/**
 * One field a property, as programs in other languages write their entries: `XADD orders * id 1 total 12.50`. The body is an object whose
 * values are all strings, on publish and in the handler; a schema turns them into numbers and the like. The fields `messageId`, `type` and
 * `headers` are the envelope's, and names that begin with `rillkit:` are the library's: none of them can be a property of the body.
 */
export const flat = (): Codec => ({ name: 'flat', encode, decode });

function encode(envelope: Envelope): Fields {
  const { body } = envelope;
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new BodyError('The codec flat() carries an object of strings.');
  const fields: (readonly [name: string, value: Buffer])[] = [];
  for (const [name, value] of Object.entries(body)) {
    if (value === undefined) continue;
    if (isEnvelopeField(name) || name.startsWith(OWN_PREFIX))
      throw new BodyError(`body.${name}: the codec flat() keeps this name to itself.`);
    if (typeof value !== 'string') throw new BodyError(`body.${name} must be a string: the codec flat() carries nothing else.`);
    fields.push([name, Buffer.from(value)]);
  }
  return [...fields, ...envelopeFields(envelope)];
}

function decode(fields: Fields): Envelope {
  const body: [name: string, value: string][] = [];
  const envelope: { messageId?: string; type?: string; headers?: Readonly<Record<string, string>> } = {};
  for (const [name, value] of fields) {
    if (name === 'messageId') envelope.messageId = value.toString();
    else if (name === 'type') envelope.type = value.toString();
    else if (name === 'headers') envelope.headers = readHeaders(value);
    else if (!name.startsWith(OWN_PREFIX)) {
      if (!isUtf8(value)) throw new BodyError(`The field "${name}" is not UTF-8.`);
      body.push([name, value.toString()]);
    }
  }
  // fromEntries makes own properties of all names, `__proto__` among them.
  return { body: Object.fromEntries(body), ...envelope };
}

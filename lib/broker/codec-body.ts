import { BodyError } from '../rillkit.errors.js';
import type { Fields } from '../store/stream-store.js';
import { envelopeFields, readHeaders } from './envelope.js';
import type { Codec } from './codec.js';

/** A codec that keeps the whole body in the one field `body`, beside `messageId`, `type` and `headers`. */
export function bodyCodec(name: string, write: (body: unknown) => Buffer, read: (body: Buffer) => unknown): Codec {
  return {
    name,
    encode: (envelope) => [['body', write(envelope.body)], ...envelopeFields(envelope)],
    decode(fields: Fields) {
      let body: Buffer | undefined;
      let messageId: string | undefined;
      let type: string | undefined;
      let headers: Readonly<Record<string, string>> | undefined;
      // One pass, by index: this runs for each message.
      for (let at = 0; at < fields.length; at += 1) {
        const field = fields[at];
        if (field === undefined) continue;
        switch (field[0]) {
          case 'body':
            body = field[1];
            break;
          case 'messageId':
            messageId = field[1].toString();
            break;
          case 'type':
            type = field[1].toString();
            break;
          case 'headers':
            headers = readHeaders(field[1]);
            break;
          default:
        }
      }
      if (body === undefined) throw new BodyError('The entry has no field "body".');
      return { body: read(body), messageId, type, headers };
    },
  };
}

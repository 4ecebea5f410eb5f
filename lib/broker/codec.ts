import type { Fields } from '../store/stream-store.js';

/** An entry's parts, as a codec reads and writes them. */
export interface Envelope {
  readonly body: unknown;
  readonly messageId?: string | undefined;
  readonly type?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** Reads and writes the whole field map of an entry, so that another library's format needs a codec and nothing else. */
export interface Codec {
  readonly name: string;
  /** Throws where the body cannot be carried; it is refused then, before anything is written. Names beginning with `rillkit:` are the library's. */
  encode(envelope: Envelope): Fields;
  /**
   * Throws where the fields cannot be read; the message goes to the dead letters then, with its raw fields. Fields whose names begin with
   * `rillkit:` are to be passed over. Runs once a message: what it costs, every message costs.
   */
  decode(fields: Fields): Envelope;
}

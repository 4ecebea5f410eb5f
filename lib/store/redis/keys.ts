import { NameError } from '../../rillkit.errors.js';
import type { Place } from '../stream-store.js';

/**
 * The one place that makes keys of names. On a single server a stream's key is its name as given. On a cluster a name without a `{tag}` is
 * stored under `{name}`. All keys of one stream carry the same tag, where there is one, so they live in one hash slot.
 */
export class Keys {
  constructor(private readonly cluster: boolean) {}

  stream(name: string): string {
    if (!this.cluster || tagOf(name)) return name;
    if (name.startsWith('}')) throw new NameError(`On a cluster a stream's name must not begin with "}", as "${name}" does.`);
    return `{${name}}`;
  }

  deadLetters(name: string): string {
    return `${this.stream(name)}-dlq`;
  }

  leases(place: Place): string {
    return `rillkit:leases:${this.placed(place)}`;
  }

  parked(place: Place): string {
    return `rillkit:parked:${this.placed(place)}`;
  }

  /** What people and RillKit's tools look at; nothing here reads it. */
  heartbeat(place: Place, worker: string): string {
    return `rillkit:workers:${this.placed(place)}:${escaped(worker)}`;
  }

  /** A channel, not a key: of the whole group, so that one subscription hears of all its streams. */
  nudges(group: string): string {
    return `rillkit:nudge:${escaped(group)}`;
  }

  private placed({ stream, group }: Place): string {
    return `${tagged(this.stream(stream))}:${escaped(group)}`;
  }
}

/** The part of a key that Redis hashes: from the first brace to the next closing one, unless nothing is between. */
function tagOf(key: string): { readonly from: number; readonly to: number } | null {
  const from = key.indexOf('{');
  const to = from < 0 ? -1 : key.indexOf('}', from);
  return to > from + 1 ? { from, to: to + 1 } : null;
}

/** Escaped but for its tag: escaped text holds neither braces nor colons, so what is a tag and where a name ends stays clear. */
function tagged(key: string): string {
  const tag = tagOf(key);
  return tag ? escaped(key.slice(0, tag.from)) + key.slice(tag.from, tag.to) + escaped(key.slice(tag.to)) : escaped(key);
}

/** Percent-codes what separates parts of a key, opens a tag, or is a pattern to `KEYS` and `SCAN`. Plain names stay as they are. */
const escaped = (name: string): string =>
  name.replace(/[%:{}*?[\]\\]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`);

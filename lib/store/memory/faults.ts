import { StoreError } from '../../rillkit.errors.js';

/** The refusals of a Redis server, in its words: whoever logs or matches them sees the same on both stores. */
export const wrongType = (): StoreError =>
  new StoreError('WRONGTYPE Operation against a key holding the wrong kind of value', 'wrongType', 'no');

export const noGroup = (key: string, group: string): StoreError =>
  new StoreError(`NOGROUP No such key '${key}' or consumer group '${group}'`, 'noGroup', 'no');

export const invalidId = (): StoreError => new StoreError('ERR Invalid stream ID specified as stream command argument', 'refused', 'no');

export const noFields = (): StoreError => new StoreError("ERR wrong number of arguments for 'xadd' command", 'refused', 'no');

export const unavailable = (applied: 'no' | 'unknown', why: string): StoreError =>
  new StoreError(`The memory store cannot be talked to: ${why}`, 'unavailable', applied);

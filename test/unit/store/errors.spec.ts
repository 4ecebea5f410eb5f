import { describe, expect, it } from 'vitest';
import { connectionErrorOf, storeErrorOf } from '../../../lib/store/redis/errors.js';

describe('an error of a call', () => {
  it.each([
    ['NOGROUP No such key', 'noGroup'],
    ['WRONGTYPE Operation against a key', 'wrongType'],
    ['OOM command not allowed', 'outOfMemory'],
    ["READONLY You can't write against a read only replica.", 'readOnly'],
    ['UNBLOCKED force unblock from blocking operation', 'interrupted'],
    ['LOADING Redis is loading', 'refused'],
    ['BUSY Redis is busy running a script', 'refused'],
    ['NOPERM User x has no permissions', 'refused'],
    ['NOAUTH Authentication required.', 'refused'],
    ['WRONGPASS invalid username-password pair', 'refused'],
    ['MISCONF Redis is configured to save', 'refused'],
    ['CLUSTERDOWN The cluster is down', 'refused'],
    ['TRYAGAIN Multiple keys request', 'refused'],
    ['MOVED 1234 127.0.0.1:7000', 'refused'],
    ['ERR syntax error', 'refused'],
  ])('that the server answered, "%s", is %s and was not applied', (text, fault) => {
    expect(storeErrorOf(new Error(text))).toMatchObject({ fault, applied: 'no', message: text });
  });

  it.each([
    ['Connection is closed.', 'unknown'],
    ['Command aborted due to connection close', 'unknown'],
    ["Socket timeout. Expecting data, but didn't receive any in 5000ms.", 'unknown'],
    ["Stream isn't writeable and enableOfflineQueue options is false", 'no'],
  ])('of the connection, "%s", says whether it may have been applied: %s', (text, applied) => {
    expect(storeErrorOf(new Error(text))).toMatchObject({ fault: 'unavailable', applied });
  });

  it.each(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'ERR_TLS_CERT_ALTNAME_INVALID'])(
    'of the system, %s, is one of the connection',
    (code) => {
      expect(storeErrorOf(Object.assign(new Error('x'), { code }))).toMatchObject({ fault: 'unavailable' });
    },
  );

  it('carries no arguments of the call: bodies and passwords are among them', () => {
    const error = Object.assign(new Error('ERR unknown command `HELLO`, with args beginning with: `3` `AUTH` `ann` `s3cret`'), {
      command: { name: 'hello', args: ['3', 'AUTH', 'ann', 's3cret'] },
    });
    const ours = storeErrorOf(error);
    expect(JSON.stringify([ours.message, ours.stack, ours.cause, Object.values(ours)])).not.toContain('s3cret');
    expect(ours.message).toBe('ERR unknown command `HELLO`');
  });
});

describe('an error of connecting', () => {
  it('says that it is one, and whose', () => {
    expect(connectionErrorOf(new Error('connect ECONNREFUSED 127.0.0.1:1'))).toMatchObject({
      fault: 'unavailable',
      applied: 'no',
      message: 'No connection to Redis: connect ECONNREFUSED 127.0.0.1:1',
    });
    expect(connectionErrorOf(new Error('WRONGPASS invalid username-password pair'))).toMatchObject({ fault: 'refused', applied: 'no' });
  });
});

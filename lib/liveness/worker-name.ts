import { randomBytes, randomInt } from 'node:crypto';
import { hostname } from 'node:os';

/** `<group>-<host>-<pid>-<random>`: the random end since in containers the process id is 1 after each restart. */
export const defaultWorkerName = (group: string): string => `${group}-${hostname()}-${process.pid}-${randomBytes(3).toString('hex')}`;

/** Tells two incarnations of one worker name apart: a whole number, 1 to 2^48 - 1, which a sorted set's score holds exactly. */
export const incarnationTag = (): number => randomInt(1, 2 ** 48 - 1);

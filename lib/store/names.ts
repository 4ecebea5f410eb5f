import { NameError } from '../rillkit.errors.js';

/** Checks that hold for every store; what two streams together must not do is checked where handlers are bound. */
function checkName(what: string, name: unknown): asserts name is string {
  if (typeof name !== 'string') throw new NameError(`A ${what}'s name must be a string, not ${typeof name}.`);
  if (name === '') throw new NameError(`A ${what}'s name must not be empty.`);
  // Such a string has no form in UTF-8: Redis would see the same replacement character for all of them.
  if (/\p{Surrogate}/u.test(name)) throw new NameError(`A ${what}'s name must be whole Unicode text; half of a surrogate pair is in it.`);
}

function checkNotReserved(what: string, name: string): void {
  if (name.startsWith('~')) {
    throw new NameError(`A ${what}'s name must not begin with "~", as "${name}" does: those names are the library's own.`);
  }
}

/** @throws NameError with the rule that the name breaks. */
export function checkStreamName(name: unknown): asserts name is string {
  checkName('stream', name);
  if (name.startsWith('rillkit:')) {
    throw new NameError(`A stream's name must not begin with "rillkit:", as "${name}" does: those keys are the library's own.`);
  }
}

/** @throws NameError with the rule that the name breaks. */
export function checkGroupName(name: unknown): asserts name is string {
  checkName('group', name);
  checkNotReserved('group', name);
}

/** @throws NameError with the rule that the name breaks. */
export function checkWorkerName(name: unknown): asserts name is string {
  checkName('worker', name);
  checkNotReserved('worker', name);
}

import { SchemaError } from '../rillkit.errors.js';
import type { StandardResult, StandardSchema } from './standard-schema.js';

type Issue = NonNullable<StandardResult<unknown>['issues']>[number];

const MAX_ISSUES = 20;
const MAX_LINE = 200;

/**
 * Checks a value and answers what the schema made of it: at once where the schema answers at once, which spares each message a turn of the
 * event loop; else as a promise. What the validator itself throws is thrown on: it says nothing about the value.
 * @throws SchemaError where the value does not fit.
 */
export function validate<Out>(schema: StandardSchema<unknown, Out>, value: unknown, stream: string): Out | Promise<Out> {
  const result = schema['~standard'].validate(value);
  return 'then' in result ? Promise.resolve(result).then((late) => outcome(late, stream)) : outcome(result, stream);
}

function outcome<Out>(result: StandardResult<Out>, stream: string): Out {
  if (result.issues === undefined) return result.value;
  const lines = result.issues.slice(0, MAX_ISSUES).map(line);
  const left = result.issues.length - lines.length;
  if (left > 0) lines.push(`… and ${left} more`);
  throw new SchemaError(
    `The body does not fit the schema of "${stream}": ${lines.slice(0, 3).join('; ')}${lines.length > 3 ? '; …' : ''}`,
    lines,
  );
}

function line({ path = [], message }: Issue): string {
  const place = path.map((step) => segment(typeof step === 'object' ? step.key : step)).join('');
  const text = place === '' ? message : `${place.replace(/^\./, '')}: ${message}`;
  return text.length > MAX_LINE ? `${text.slice(0, MAX_LINE)}…` : text;
}

const segment = (key: PropertyKey): string => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`);

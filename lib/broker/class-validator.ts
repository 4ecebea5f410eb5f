import { OptionError } from '../rillkit.errors.js';
import type { StandardResult, StandardSchema } from './standard-schema.js';

/** A class whose instances bodies become: `@IsString() id: string`. */
export type DtoClass<T> = new () => T;

/** A schema that has to be loaded before its first use. */
export interface LoadedSchema<In, Out> extends StandardSchema<In, Out> {
  /** @throws OptionError where its packages are not installed. */
  load(): Promise<void>;
}

/**
 * Makes a schema of a class with the decorators of class-validator: plain bodies become its instances (class-transformer), and what breaks
 * a decorator's rule does not fit. Needs the packages class-validator and class-transformer, which are loaded at the first use.
 */
export function classValidator<T, In = T>(dto: DtoClass<T>): LoadedSchema<In, T> {
  let tools: Tools | undefined;
  const load = async (): Promise<Tools> => (tools ??= await loadTools());
  return {
    load: async () => void (await load()),
    '~standard': {
      version: 1,
      vendor: 'class-validator',
      validate: async (value): Promise<StandardResult<T>> => {
        // Arrays would be taken apart and checked one by one, scalars not at all.
        if (!isObject(value) || Array.isArray(value)) return NO_OBJECT;
        const { plainToInstance, check } = tools ?? (await load());
        const instance = plainToInstance(dto, value);
        if (!isObject(instance)) return NO_OBJECT;
        const issues = (await check(instance)).flatMap((error) => issuesOf(error, []));
        return issues.length > 0 ? { issues } : { value: instance };
      },
    },
  };
}

const NO_OBJECT = { issues: [{ message: 'must be an object' }] };

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** As much of class-validator's errors as is read here. */
interface Broken {
  readonly property?: string;
  readonly constraints?: Readonly<Record<string, string>>;
  readonly children?: readonly Broken[];
}

interface Tools {
  readonly plainToInstance: <T>(dto: DtoClass<T>, plain: object) => T;
  readonly check: (instance: object) => Promise<readonly Broken[]>;
}

async function loadTools(): Promise<Tools> {
  try {
    const [{ validate }, { plainToInstance }] = await Promise.all([import('class-validator'), import('class-transformer')]);
    // Not validateSync: it passes over asynchronous rules without a word.
    return { plainToInstance, check: (instance) => validate(instance) };
  } catch (cause) {
    throw new OptionError('schema', 'a class needs two packages: npm install class-validator class-transformer', { cause });
  }
}

function issuesOf(
  { property = '', constraints = {}, children = [] }: Broken,
  above: readonly string[],
): { message: string; path: string[] }[] {
  const path = property === '' ? [...above] : [...above, property];
  const own = Object.values(constraints).map((message) => ({ message, path }));
  return [...own, ...children.flatMap((child) => issuesOf(child, path))];
}

import { OPAQUE_FIELDS } from '../generated/facts.ts'

/**
 * The API names fields in snake_case, the SDK in camelCase. The keys of {@link OPAQUE_FIELDS}, such as the names of
 * variables, belong to the user and stay as they are.
 */
const toCamelCase = (name: string) => name.replace(/_([a-z0-9])/g, (_all, letter: string) => letter.toUpperCase())
const toSnakeCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** An answer of the API with the names of the SDK. */
// The caller names the model that the route answers with.
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters
export function fromWire<T>(answer: unknown): T {
  return renamed(answer, toCamelCase) as T
}

/** Options with the names of the API. */
export function toWire(options: object): Record<string, unknown> {
  return renamed(options, toSnakeCase) as Record<string, unknown>
}

function renamed(value: unknown, rename: (name: string) => string): unknown {
  if (Array.isArray(value)) return value.map((each) => renamed(each, rename))
  if (typeof value !== 'object' || value === null) return value
  const result: Record<string, unknown> = {}
  for (const [key, inner] of Object.entries(value)) {
    result[rename(key)] = OPAQUE_FIELDS.has(key) ? inner : renamed(inner, rename)
  }
  return result
}

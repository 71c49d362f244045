import { isDeepStrictEqual } from 'node:util'
import { type PublicSchema, publicSchemas } from '@offshoot/contract/public-schemas'
import { z } from 'zod'

type Json = Record<string, unknown>

/** The parts of a schema that may have fields. */
interface Parts {
  readonly properties?: Record<string, Json>
  readonly items?: Json
  readonly anyOf?: readonly Json[]
  readonly oneOf?: readonly Json[]
  readonly allOf?: readonly Json[]
}

const byName = new Map<string, PublicSchema>()
const bySchema = new Map<z.ZodType, PublicSchema>()
for (const each of publicSchemas()) {
  const { name, schema } = each
  bySchema.set(schema, each)
  // OpenAPI lists parameters one by one.
  if (name.endsWith('Query')) continue
  byName.set(name, each)
  // The same registry holds the formats of fields, and a conversion reads one registry only.
  z.globalRegistry.add(schema, { ...z.globalRegistry.get(schema), id: name })
}

/** The JSON schemas of a document. Those that have a name are in `components.schemas`; others refer to them. */
export class OpenApiSchemas {
  readonly components: Json = {}

  /** @throws Error a named schema differs between requests and answers */
  of(schema: z.ZodType, io: 'input' | 'output'): Json {
    const {
      $schema: _dialect,
      $defs = {},
      ...root
    } = z.toJSONSchema(schema, {
      io,
      override: ({ jsonSchema }) => {
        // Answers may grow, so a client that validates with this schema must not refuse unknown fields.
        if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties
      },
    }) as Json
    for (const [name, definition] of Object.entries($defs as Record<string, Json>)) this.#add(name, definition)
    return referring(root) as Json
  }

  /** The schemas of the parameters of a query, by name. */
  ofQuery(query: z.ZodObject): Record<string, Json> {
    const descriptions = bySchema.get(query)?.descriptions ?? {}
    return Object.fromEntries(
      Object.entries(query.shape).map(([name, schema]) => [
        name,
        described(this.of(schema as z.ZodType, 'input'), name, descriptions),
      ]),
    )
  }

  #add(name: string, { id: _id, ...definition }: Json): void {
    const schema = described(referring(definition) as Json, '', byName.get(name)?.descriptions ?? {})
    const known = this.components[name]
    if (known !== undefined && !isDeepStrictEqual(known, schema)) {
      throw new Error(`the schema ${name} differs between a request and an answer: give one of them another name`)
    }
    this.components[name] = schema
  }
}

/** The schema with references to `components.schemas` instead of its own definitions. */
function referring(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(referring)
  if (typeof schema !== 'object' || schema === null) return schema
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [
      key,
      key === '$ref' && typeof value === 'string'
        ? value.replace('#/$defs/', '#/components/schemas/')
        : referring(value),
    ]),
  )
}

/** The schema with the descriptions of itself and of its fields. */
function described(schema: Json, path: string, descriptions: PublicSchema['descriptions']): Json {
  const text = descriptions[path]
  return { ...(text !== undefined && { description: text }), ...withFields(schema, path, descriptions) }
}

/** The elements of an array and the alternatives of a union have the path of the array or the union. */
function withFields(schema: Json, path: string, descriptions: PublicSchema['descriptions']): Json {
  const { properties, items, anyOf, oneOf, allOf, ...rest } = schema as Record<string, unknown> & Parts
  const inside = (part: Json) => withFields(part, path, descriptions)
  return {
    ...rest,
    ...(items !== undefined && { items: inside(items) }),
    ...(anyOf && { anyOf: anyOf.map(inside) }),
    ...(oneOf && { oneOf: oneOf.map(inside) }),
    ...(allOf && { allOf: allOf.map(inside) }),
    ...(properties && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, of]) => [
          name,
          described(of, path === '' ? name : `${path}.${name}`, descriptions),
        ]),
      ),
    }),
  }
}

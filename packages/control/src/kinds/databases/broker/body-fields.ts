import { Refusal } from './refusal.ts'

export type Body = Readonly<Record<string, unknown>>

/** @throws Refusal 400 that names the field */
export function textOf(body: Body, name: string): string {
  const value = body[name]
  if (value === undefined || value === null || value === '') throw new Refusal(400, `${name} is required`)
  if (typeof value !== 'string') throw new Refusal(400, `${name} must be a string`)
  return value
}

export function optionalText(body: Body, name: string): string | undefined {
  return body[name] === undefined || body[name] === null ? undefined : textOf(body, name)
}

export function optionalInteger(body: Body, name: string, min: number, max: number): number | undefined {
  const value = body[name]
  if (value === undefined || value === null) return undefined
  if (!Number.isInteger(value) || Number(value) < min || Number(value) > max)
    throw new Refusal(400, `${name} must be an integer from ${min} to ${max}`)
  return Number(value)
}

export function paramsOf(body: Body): readonly unknown[] | undefined {
  const value = body['params']
  if (value === undefined || value === null) return undefined
  if (!Array.isArray(value)) throw new Refusal(400, 'params must be an array')
  return value
}

import { optional, stringMap } from './fields.ts'

/** Names that a POSIX shell accepts. The guest would cut a value at a NUL. */
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/

/**
 * Environment variables: at most 256, names of up to 256 characters, values of up to 32 Ki characters (Linux allows 128
 * KiB per entry).
 */
export const env = optional(
  stringMap('env', { entries: 256, keyChars: 256, valueChars: 32_768 })
    .refine((map) => Object.keys(map).every((name) => NAME.test(name)), 'env names must match [A-Za-z_][A-Za-z0-9_]*')
    .refine((map) => Object.values(map).every((value) => !value.includes('\0')), 'env values must not contain NUL'),
)

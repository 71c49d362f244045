import { optional, stringMap } from './fields.ts'

/** Names a POSIX shell can hold; a NUL in a value would end it early in the guest. */
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/

/** Environment variables: at most 256, names of 256 characters, values of 32 Ki characters (Linux holds 128 KiB an entry). */
export const env = optional(
  stringMap('env', { entries: 256, keyChars: 256, valueChars: 32_768 })
    .refine((map) => Object.keys(map).every((name) => NAME.test(name)), 'env names must match [A-Za-z_][A-Za-z0-9_]*')
    .refine((map) => Object.values(map).every((value) => !value.includes('\0')), 'env values must not contain NUL'),
)

import { expect, it } from 'vitest'
import { forwardedUrl } from './forwarded-url.ts'

it.each([
  ['/a', '/a'],
  ['/a?', '/a?'],
  ['/a?access_token=x', '/a'],
  ['/a?b=%FF%20+&access_token=x&c', '/a?b=%FF%20+&c'],
  ['/a?access%5Ftoken=x&b=1', '/a?b=1'],
  ['/a?access_token&%zz=1', '/a?%zz=1'],
  ['/a?my_access_token=x', '/a?my_access_token=x'],
])('%s goes on as %s', (given, forwarded) => {
  expect(forwardedUrl(given)).toBe(forwarded)
})

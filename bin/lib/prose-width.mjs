// Fails on lines of prose over 100 characters in Markdown files. Exempt are tables, code, and lines that consist mostly
// of a link.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

const MAX_CHARS = 100

const files = execFileSync('git', ['ls-files', '*.md'], { encoding: 'utf8' }).split('\n').filter(Boolean)
const long = files.flatMap((file) => {
  let isCode = false
  return readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((line, index) => {
      if (/^\s*(```|~~~)/.test(line)) isCode = !isCode
      const isProse = !isCode && !/^\s*(\||```|~~~)/.test(line) && /\S\s+\S+\s+\S/.test(line)
      return isProse && Array.from(line).length > MAX_CHARS ? [`${file}:${index + 1}`] : []
    })
})
if (long.length > 0) {
  console.log(`Lines of prose over ${MAX_CHARS} characters:\n${long.join('\n')}`)
  process.exitCode = 1
}

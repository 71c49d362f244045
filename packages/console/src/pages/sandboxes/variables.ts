/** Reads `NAME=value` lines. @throws Error that names the first line that is no assignment */
export function parseVariables(text: string): Record<string, string> {
  const found: Record<string, string> = {}
  for (const line of text.split('\n').filter((each) => each.trim() !== '')) {
    const [, name, value] = /^\s*([A-Za-z_][A-Za-z0-9_]*)=(.*)$/.exec(line) ?? []
    if (name === undefined || value === undefined) throw new Error(`"${line.trim()}" is not NAME=value`)
    found[name] = value
  }
  return found
}

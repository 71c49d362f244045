type Labels = Readonly<Record<string, string>>

/** `key=value` of each label. */
export function labelLines(labels: Labels): string[] {
  return Object.entries(labels).map(([key, value]) => `${key}=${value}`)
}

/** The labels in such lines; `null` if a line is none, or a key is there twice. Empty lines do not count. */
export function labelsIn(text: string): Record<string, string> | null {
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
  const labels = new Map<string, string>()
  for (const line of lines) {
    const [, key, value] = /^([^=\s]+)\s*=\s*(\S+)$/.exec(line) ?? []
    if (key === undefined || value === undefined || labels.has(key)) return null
    labels.set(key, value)
  }
  return Object.fromEntries(labels)
}

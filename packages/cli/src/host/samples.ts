/** One line of Prometheus' text format. */
export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** Understands what the service writes: no time stamps, and label values without quotes and line ends. */
export function samplesOf(text: string): Sample[] {
  return text.split('\n').flatMap((line) => {
    const [, name, list, value] = /^(\w+)(?:\{([^}]*)\})? (\S+)$/.exec(line) ?? []
    if (name === undefined) return []
    const labels = [...(list ?? '').matchAll(/(\w+)="([^"]*)"/g)].map(([, key, content]) => [key, content])
    return [{ name, labels: Object.fromEntries(labels) as Record<string, string>, value: Number(value) }]
  })
}

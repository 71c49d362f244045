/** Groups of events, as `GROUP.*` in a filter. */
export const GROUPS = ['sandbox', 'fork', 'build', 'deploy', 'database', 'vm'] as const

/** Words between commas or white space. */
function wordsOf(text: string): readonly string[] {
  return text.split(/[\s,]+/).filter(Boolean)
}

/** What the form says as the fields of the API. No filter at all is `*`, everything. */
export function filtersOf(groups: ReadonlySet<string>, types: string, objects: string) {
  const events = [...[...groups].map((group) => `${group}.*`), ...wordsOf(types)]
  return { events: events.length === 0 ? ['*'] : events, objects: [...wordsOf(objects)] }
}

const isGroup = (event: string) => GROUPS.some((group) => event === `${group}.*`)

/** The events of a webhook for people. */
export function eventsOf(events: readonly string[]): string {
  return events.length === 0 || events.includes('*') ? 'all' : events.join(', ')
}

/** The reverse: the form of a webhook that exists. */
export function formOf(events: readonly string[], objects: readonly string[]) {
  return {
    groups: new Set(events.filter(isGroup).map((event) => event.slice(0, -2))),
    types: events.filter((event) => event !== '*' && !isGroup(event)).join(', '),
    objects: objects.join(', '),
  }
}

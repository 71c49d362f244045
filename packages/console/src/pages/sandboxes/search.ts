/** The filters of the list, which are part of its address. */
export interface SandboxesSearch {
  readonly q?: string | undefined
  readonly status?: string | undefined
  readonly template?: string | undefined
  /** Opens the dialog for a new sandbox. */
  readonly new?: true | undefined
}

const text = (value: unknown) => (typeof value === 'string' && value !== '' ? value : undefined)

export function sandboxesSearch(found: Record<string, unknown>): SandboxesSearch {
  return {
    q: text(found['q']),
    status: text(found['status']),
    template: text(found['template']),
    new: found['new'] === true || undefined,
  }
}

import { parseSandboxId, type SandboxId } from '@offshoot/contract/ids'

const WITHOUT_HYPHENS = /^([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/

/** A sandbox's id as E2B's clients see it: without hyphens, because they take a hyphen for a separator. */
export function shownId(id: string): string {
  return id.replaceAll('-', '')
}

/** Reads either form of an id; `null` for any other text. */
export function parseShownId(text: string): SandboxId | null {
  return parseSandboxId(text.toLowerCase().replace(WITHOUT_HYPHENS, '$1-$2-$3-$4-$5'))
}

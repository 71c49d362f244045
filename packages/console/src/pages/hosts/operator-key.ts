/*
 * An operator's key opens the whole service. It stays in the memory of this tab, or in the tab's storage if the operator
 * wants it to outlive a reload, and never in storage that other tabs or later days can read.
 */

const KEPT = 'offshoot-operator-key'

let current: string | null = null

export function operatorKey(): string | null {
  return current ?? sessionStorage.getItem(KEPT)
}

/** @param keep whether it outlives a reload of the tab */
export function takeOperatorKey(key: string, keep: boolean): void {
  current = key
  if (keep) sessionStorage.setItem(KEPT, key)
}

export function forgetOperatorKey(): void {
  current = null
  sessionStorage.removeItem(KEPT)
}

import { CHOSEN_WORKSPACE } from '../../session/session.tsx'

/** Goes to the user's first workspace, after the chosen one was left or deleted. */
export function leaveWorkspace(): void {
  sessionStorage.removeItem(CHOSEN_WORKSPACE)
  location.assign('/')
}

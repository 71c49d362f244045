import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { signedIn } from '../../session/token.ts'

/** Goes on after a sign-in. @param next the page from which the user came */
export function useEnter(next: string | undefined): () => Promise<void> {
  const navigate = useNavigate()
  const queries = useQueryClient()
  return async () => {
    signedIn()
    queries.clear()
    await navigate({ href: next ?? '/', replace: true })
  }
}

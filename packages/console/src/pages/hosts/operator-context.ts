import type { Offshoot } from '@offshoot/sdk'
import { createContext, useContext } from 'react'

const Context = createContext<Offshoot | null>(null)

export const OperatorProvider = Context.Provider

/** The service, as the operator whose key was pasted. */
export function useOperator(): Offshoot {
  const api = useContext(Context)
  if (api === null) throw new Error('used outside of OperatorProvider')
  return api
}

import { access, constants } from 'node:fs/promises'

/** @param mode `constants.F_OK`: whether the path is there and can be looked at; `W_OK`, `X_OK` */
export async function canAccess(path: string, mode: number = constants.F_OK): Promise<boolean> {
  return access(path, mode).then(
    () => true,
    () => false,
  )
}

import { databaseRoutes } from './databases/routes.ts'

/** Templates, databases, apps and volumes. */
export const resourceRoutes = [...databaseRoutes] as const

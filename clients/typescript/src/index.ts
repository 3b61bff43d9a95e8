export { LtstError } from "./handles.ts";
export type { Opening, Options, Problem } from "./handles.ts";
export type { components, operations, paths } from "./openapi.ts";
export type { Answer, Body, Given, Schemas } from "./types.ts";
export * from "./verbs.ts";

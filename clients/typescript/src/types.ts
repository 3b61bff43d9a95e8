// What a verb takes and gives, read from the types of the server's document.
import type { components, operations } from "./openapi.ts";

/** The records of the server, by name: `Schemas["Fact"]`. */
export type Schemas = components["schemas"];

type Name = keyof operations;
type Query<O extends Name> = operations[O] extends { parameters: { query?: infer Q } } ? Plain<Q> : unknown;
type Keyed<O extends Name> = operations[O] extends { parameters: { header?: { "Idempotency-Key"?: string } } }
  ? { /** Sent again with the same key, the request has its effect once. */ idempotency_key?: string }
  : unknown;
type Plain<T> = [T] extends [undefined] | [never] ? unknown : NonNullable<T>;

/** The JSON body of a request. */
export type Body<O extends Name> = operations[O] extends {
  requestBody: { content: { "application/json": infer B } };
}
  ? B
  : never;

type Bodied<O extends Name> = [Body<O>] extends [never] ? unknown : Body<O>;

/** All that a request takes beside its path. */
export type Given<O extends Name> = Query<O> & Bodied<O> & Keyed<O>;

/** The same without what stands before it in a call. */
export type Rest<O extends Name, Names extends string> = Omit<Given<O>, Names>;

type Json<R> = R extends { content: { "application/json": infer B } } ? B : never;

/** What a request answers. */
export type Answer<O extends Name> = {
  [Status in keyof operations[O]["responses"]]: Status extends 200 | 201 ? Json<operations[O]["responses"][Status]> : never;
}[keyof operations[O]["responses"]];

/** One field of what a request answers. */
export type Unwrapped<O extends Name, Field extends string> =
  Answer<O> extends infer A ? (A extends Record<Field, infer T> ? T : never) : never;

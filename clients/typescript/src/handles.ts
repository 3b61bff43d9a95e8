// What the verbs stand on: one request, its answer or its error.

/** Where the server is, and how to be let in. */
export interface Options {
  /** The address of `ltst serve`; http://localhost:8000 by default. */
  baseUrl?: string;
  /** A key made by `ltst keys create`, or a JSON web token; none on a server without keys. */
  apiKey?: string;
  /** How long a request may take, in milliseconds; 60,000 by default. */
  timeout?: number;
  /** Another fetch, for tests or proxies. */
  fetch?: typeof fetch;
}

/** What is noted of a conversation when it begins. */
export interface Opening {
  /** The agent that the user talks with. */
  agent?: string;
  /** What to call it. */
  name?: string;
}

/** What the server says when it refuses, as RFC 9457 has it. */
export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  request_id: string;
  [more: string]: unknown;
}

/** A request that the server refused; `message` is the sentence that says what is accepted. */
export class LtstError extends Error {
  override readonly name = "LtstError";
  readonly status: number;
  readonly problem: Problem | null;

  constructor(status: number, message: string, problem: Problem | null) {
    super(message);
    this.status = status;
    this.problem = problem;
  }
}

export interface Scope {
  readonly options: Options;
  readonly userId?: string;
  readonly sessionId?: string;
  readonly opening?: Opening;
}

interface Request {
  method: string;
  path: string;
  /** Which of the arguments stand in the query. */
  query?: readonly string[];
  /** Which of the arguments the conversation itself knows. */
  opening?: readonly (keyof Opening)[];
  body?: boolean;
  /** The field of the answer that is the answer. */
  unwrap?: string;
  /** What 404 means, where it is no error. */
  missing?: false | null;
}

type Given = Record<string, unknown>;

/** Some verbs of one user, or of a whole memory. */
export class Handle {
  protected readonly scope: Scope;

  constructor(scope: Scope) {
    this.scope = scope;
  }

  protected get sessionId(): string {
    return this.scope.sessionId ?? "";
  }

  protected async send<T>(request: Request, given: Given, content?: unknown, mediaType?: string): Promise<T> {
    const { options } = this.scope;
    const asked: Given = { ...given };
    for (const name of request.opening ?? []) asked[name] ??= this.scope.opening?.[name];
    const headers = this.headers(asked);
    const address = (options.baseUrl ?? "http://localhost:8000").replace(/\/+$/, "") + request.path;
    const query = parameters(asked, request.query ?? []);
    let body: string | Uint8Array<ArrayBuffer> | undefined;
    if (mediaType !== undefined) {
      headers.set("Content-Type", mediaType);
      body = content as string | Uint8Array<ArrayBuffer>;
    } else if (request.body || content !== undefined) {
      headers.set("Content-Type", "application/json");
      body = JSON.stringify(content ?? asked);
    }
    const signal = AbortSignal.timeout(options.timeout ?? 60_000);
    const init: RequestInit = { method: request.method, headers, signal, ...(body === undefined ? {} : { body }) };
    return answer<T>(request, await (options.fetch ?? fetch)(address + query, init));
  }

  private headers(asked: Given): Headers {
    const { options, userId } = this.scope;
    const headers = new Headers({ Accept: "application/json" });
    if (options.apiKey !== undefined) headers.set("Authorization", `Bearer ${options.apiKey}`);
    if (userId !== undefined) headers.set("X-User-Id", userId);
    if (asked.idempotency_key !== undefined) headers.set("Idempotency-Key", String(asked.idempotency_key));
    delete asked.idempotency_key;
    return headers;
  }
}

/** Takes the parameters of the query out of what was given. */
function parameters(asked: Given, names: readonly string[]): string {
  const query = new URLSearchParams();
  for (const name of names) {
    const value = asked[name];
    delete asked[name];
    const values = Array.isArray(value) ? value : value === undefined || value === null ? [] : [value];
    for (const each of values) query.append(name, String(each));
  }
  return query.size ? `?${query}` : "";
}

async function answer<T>(request: Request, response: Response): Promise<T> {
  if (response.status === 404 && request.missing !== undefined && (await isAbsent(response.clone()))) {
    return request.missing as T;
  }
  if (!response.ok) throw await refusal(response);
  if (response.status === 204) return (request.missing === undefined ? undefined : true) as T;
  const told = await response.json();
  return (request.unwrap === undefined ? told : told[request.unwrap]) as T;
}

/** Whether a 404 is about what was asked for: not of a wrong address, nor of something in between. */
async function isAbsent(response: Response): Promise<boolean> {
  const told = await problem(response);
  return told?.type === "urn:ltst:not-found" && !told.detail.startsWith("there is nothing at this path");
}

async function problem(response: Response): Promise<Problem | null> {
  try {
    const told = await response.json();
    return typeof told?.detail === "string" ? told : null;
  } catch {
    return null;
  }
}

async function refusal(response: Response): Promise<LtstError> {
  const told = await problem(response);
  return new LtstError(response.status, told?.detail ?? `${response.status} ${response.statusText}`, told);
}

export class MemoryHandle extends Handle {
  constructor(options: Options = {}) {
    super({ options });
  }

  protected of(userId: string): Scope {
    return { options: this.scope.options, userId };
  }
}

export class UserHandle extends Handle {
  /** Whose memory this is. */
  get userId(): string {
    return this.scope.userId ?? "";
  }

  /** Removes everything the user owns, this user's keys included, and returns the receipt that proves it. */
  erase(): Promise<import("./types.ts").Answer<"erase_memory">> {
    return this.send({ method: "POST", path: "/v1/erase", body: true }, { user_id: this.userId });
  }

  protected within(sessionId: string, opening: Opening): Scope {
    return { ...this.scope, sessionId, opening };
  }
}

export class ChatHandle extends Handle {
  /** Which conversation this is. */
  override get sessionId(): string {
    return super.sessionId;
  }
}

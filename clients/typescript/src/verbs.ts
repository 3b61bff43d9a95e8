// Written by scripts/generate_typescript.py. Do not edit.

import { ChatHandle, Handle, MemoryHandle, UserHandle } from "./handles.ts";
import type { Opening } from "./handles.ts";
import type { Answer, Body, Given, Rest, Unwrapped } from "./types.ts";

export class Contexts extends Handle {
  /** Return the contexts that have not expired, by type and key. */
  list(options: Given<"list_session_contexts"> = {}): Promise<Unwrapped<"list_session_contexts", "items">> {
    return this.send({ method: "GET", path: `/v1/sessions/${encodeURIComponent(this.sessionId)}/contexts`, query: ["type"], unwrap: "items" }, { ...options });
  }

  /** Return a context, or None if there is none or it has expired. */
  get(type: string, key: string): Promise<Answer<"get_session_context"> | null> {
    return this.send({ method: "GET", path: `/v1/sessions/${encodeURIComponent(this.sessionId)}/contexts/${encodeURIComponent(type)}/${encodeURIComponent(key)}`, missing: null }, {});
  }

  /** Keep a value under its type and key, in place of the one before. */
  set(type: string, key: string, value: Body<"set_session_context">["value"], options: Rest<"set_session_context", "value"> = {}): Promise<Answer<"set_session_context">> {
    return this.send({ method: "PUT", path: `/v1/sessions/${encodeURIComponent(this.sessionId)}/contexts/${encodeURIComponent(type)}/${encodeURIComponent(key)}`, query: ["agent", "name"], opening: ["agent", "name"], body: true }, { ...options, value });
  }

  /** Remove one context. */
  forget(type: string, key: string): Promise<boolean> {
    return this.send({ method: "DELETE", path: `/v1/sessions/${encodeURIComponent(this.sessionId)}/contexts/${encodeURIComponent(type)}/${encodeURIComponent(key)}`, missing: false }, {});
  }

  /** Remove all contexts of a type. */
  forgetAll(type: string): Promise<Unwrapped<"forget_session_contexts", "removed">> {
    return this.send({ method: "DELETE", path: `/v1/sessions/${encodeURIComponent(this.sessionId)}/contexts/${encodeURIComponent(type)}`, unwrap: "removed" }, {});
  }

}

export class Documents extends Handle {
  /** Keep a file: a PDF, HTML, Markdown or plain text, sent as it is with its content type. */
  addFile(content: Uint8Array<ArrayBuffer> | string, mediaType: "text/plain" | "text/markdown" | "text/html" | "application/pdf", options: Given<"add_document_file"> = {}): Promise<Answer<"add_document_file">> {
    return this.send({ method: "POST", path: `/v1/documents/file`, query: ["title", "uri", "metadata"] }, { ...options }, content, mediaType);
  }

  /** Keep a text; the same text is kept once for each uri, and another text of the same uri changes it. */
  add(text: Body<"add_document">["text"], options: Rest<"add_document", "text"> = {}): Promise<Answer<"add_document">> {
    return this.send({ method: "POST", path: `/v1/documents`, body: true }, { ...options, text });
  }

  /** Return the documents without their chunks, the latest first. */
  list(options: Given<"list_documents"> = {}): Promise<Unwrapped<"list_documents", "items">> {
    return this.send({ method: "GET", path: `/v1/documents`, query: ["limit", "offset"], unwrap: "items" }, { ...options });
  }

  /** Return a document with its chunks, or None. */
  get(documentId: string): Promise<Answer<"get_document"> | null> {
    return this.send({ method: "GET", path: `/v1/documents/${encodeURIComponent(documentId)}`, missing: null }, {});
  }

  /** Remove a document with its chunks; return whether there was one. */
  forget(documentId: string): Promise<boolean> {
    return this.send({ method: "DELETE", path: `/v1/documents/${encodeURIComponent(documentId)}`, missing: false }, {});
  }

}

export class Entries extends Handle {
  /** Keep memories that were made elsewhere, all or none; what is there already stays as it is. */
  addMany(entries: Body<"import_entries">["entries"]): Promise<Answer<"import_entries">> {
    return this.send({ method: "POST", path: `/v1/entries/many`, body: true }, { entries });
  }

  /** Keep a memory; the same content is kept once. `source` is where it comes from, else who writes it. */
  add(content: Body<"add_entry">["content"], options: Rest<"add_entry", "content"> = {}): Promise<Answer<"add_entry">> {
    return this.send({ method: "POST", path: `/v1/entries`, body: true }, { ...options, content });
  }

  /** Return the entries, the latest first; `type` is long_term or episodic. */
  list(options: Given<"list_entries"> = {}): Promise<Unwrapped<"list_entries", "items">> {
    return this.send({ method: "GET", path: `/v1/entries`, query: ["type", "limit", "offset"], unwrap: "items" }, { ...options });
  }

  /** Return an entry, or None. */
  get(entryId: string): Promise<Answer<"get_entry"> | null> {
    return this.send({ method: "GET", path: `/v1/entries/${encodeURIComponent(entryId)}`, missing: null }, {});
  }

  /** Remove an entry; return whether there was one. */
  forget(entryId: string): Promise<boolean> {
    return this.send({ method: "DELETE", path: `/v1/entries/${encodeURIComponent(entryId)}`, missing: false }, {});
  }

}

export class Events extends Handle {
  /** Return what changed in this user's memory after an event; nothing is skipped or repeated. */
  list(options: Given<"list_events"> = {}): Promise<Unwrapped<"list_events", "items">> {
    return this.send({ method: "GET", path: `/v1/events`, query: ["settled", "after", "limit"], unwrap: "items" }, { ...options });
  }

}

export class Facts extends Handle {
  /** Return what holds now, or held on a day, about everyone or one person; the user's own first, by key. */
  list(options: Given<"list_facts"> = {}): Promise<Unwrapped<"list_facts", "items">> {
    return this.send({ method: "GET", path: `/v1/facts`, query: ["as_of", "about"], unwrap: "items" }, { ...options });
  }

  /** Return the value that holds now, or held on a day. */
  get(key: string, options: Given<"get_fact"> = {}): Promise<Answer<"get_fact"> | null> {
    return this.send({ method: "GET", path: `/v1/facts/${encodeURIComponent(key)}`, query: ["as_of", "about"], missing: null }, { ...options });
  }

  /** Make a value hold from `valid_from` on (else from its source message on, else from now). */
  set(key: string, value: Body<"set_fact">["value"], options: Rest<"set_fact", "value"> = {}): Promise<Answer<"set_fact">> {
    return this.send({ method: "PUT", path: `/v1/facts/${encodeURIComponent(key)}`, body: true }, { ...options, value });
  }

  /** Remove a key with its history and its rejections; return whether there was one. */
  forget(key: string, options: Given<"forget_fact"> = {}): Promise<boolean> {
    return this.send({ method: "DELETE", path: `/v1/facts/${encodeURIComponent(key)}`, query: ["about"], missing: false }, { ...options });
  }

  /** Return every value there ever was, closed and rejected ones too, oldest first. */
  history(key: string, options: Given<"get_fact_history"> = {}): Promise<Unwrapped<"get_fact_history", "items">> {
    return this.send({ method: "GET", path: `/v1/facts/${encodeURIComponent(key)}/history`, query: ["about"], unwrap: "items" }, { ...options });
  }

  /** Strike a value out for good: it is never learned again, and what it had replaced holds again. */
  reject(key: string, value: Body<"reject_fact">["value"], options: Rest<"reject_fact", "value"> = {}): Promise<Unwrapped<"reject_fact", "items">> {
    return this.send({ method: "POST", path: `/v1/facts/${encodeURIComponent(key)}/reject`, body: true, unwrap: "items" }, { ...options, value });
  }

  /** End a value, or all that hold, where nothing takes its place; return what was ended. */
  end(key: string, options: Given<"end_fact"> = {}): Promise<Unwrapped<"end_fact", "items">> {
    return this.send({ method: "POST", path: `/v1/facts/${encodeURIComponent(key)}/end`, body: true, unwrap: "items" }, { ...options });
  }

}

export class Instructions extends Handle {
  /** Return the active instruction for every agent. */
  list(): Promise<Unwrapped<"list_instructions", "items">> {
    return this.send({ method: "GET", path: `/v1/instructions`, unwrap: "items" }, {});
  }

  /** Return the active instruction for an agent, or None. */
  get(agent: string): Promise<Answer<"get_instruction"> | null> {
    return this.send({ method: "GET", path: `/v1/instructions/${encodeURIComponent(agent)}`, missing: null }, {});
  }

  /** Make this the active instruction for an agent; the versions before stay in the history. */
  set(agent: string, content: Body<"set_instruction">["content"]): Promise<Answer<"set_instruction">> {
    return this.send({ method: "PUT", path: `/v1/instructions/${encodeURIComponent(agent)}`, body: true }, { content });
  }

  /** Remove all versions for an agent; return whether there were any. */
  forget(agent: string): Promise<boolean> {
    return this.send({ method: "DELETE", path: `/v1/instructions/${encodeURIComponent(agent)}`, missing: false }, {});
  }

  /** Return every version for an agent, oldest first. */
  history(agent: string): Promise<Unwrapped<"get_instruction_history", "items">> {
    return this.send({ method: "GET", path: `/v1/instructions/${encodeURIComponent(agent)}/history`, unwrap: "items" }, {});
  }

}

export class Items extends Handle {
  /** Keep a value under its namespace and key, in place of the one before; its revision tells how often it was put. */
  put(key: string, namespace: Body<"put_item">["namespace"], value: Body<"put_item">["value"], options: Rest<"put_item", "namespace" | "value"> = {}): Promise<Answer<"put_item">> {
    return this.send({ method: "PUT", path: `/v1/items/${encodeURIComponent(key)}`, body: true }, { ...options, namespace, value });
  }

  /** Return an item, or None if there is none or it has expired. */
  get(key: string, options: Given<"get_item">): Promise<Answer<"get_item"> | null> {
    return this.send({ method: "GET", path: `/v1/items/${encodeURIComponent(key)}`, query: ["namespace", "refresh"], missing: null }, { ...options });
  }

  /** Remove an item; return whether there was one. */
  delete(key: string, options: Given<"delete_item">): Promise<boolean> {
    return this.send({ method: "DELETE", path: `/v1/items/${encodeURIComponent(key)}`, query: ["namespace", "revision"], missing: false }, { ...options });
  }

  /** Return the items in a namespace and below it, by namespace and key. */
  list(options: Given<"list_items"> = {}): Promise<Unwrapped<"list_items", "items">> {
    return this.send({ method: "GET", path: `/v1/items`, query: ["namespace", "limit", "offset"], unwrap: "items" }, { ...options });
  }

  /** Return the namespaces that hold items, in order. */
  listNamespaces(options: Given<"list_namespaces"> = {}): Promise<Unwrapped<"list_namespaces", "items">> {
    return this.send({ method: "GET", path: `/v1/namespaces`, query: ["prefix", "suffix", "max_depth", "limit", "offset"], unwrap: "items" }, { ...options });
  }

  /** Return items in a namespace and below it that meet a filter, the best first, with scores if compared. */
  search(options: Given<"search_items"> = {}): Promise<Unwrapped<"search_items", "items">> {
    return this.send({ method: "POST", path: `/v1/items/search`, body: true, unwrap: "items" }, { ...options });
  }

  /** Do several things to items one after another, all or none; each result stands at the place of its operation. */
  batch(operations: Body<"batch_items">["operations"]): Promise<Answer<"batch_items">> {
    return this.send({ method: "POST", path: `/v1/items/batch`, body: true }, { operations });
  }

}

export class Keys extends Handle {
  /** Return all keys, oldest first, including revoked ones. */
  list(): Promise<Unwrapped<"list_keys", "items">> {
    return this.send({ method: "GET", path: `/v1/admin/keys`, unwrap: "items" }, {});
  }

  /** Make a key for one user's memory, or for everyone's; its secret is shown only this once. */
  create(options: Given<"create_key"> = {}): Promise<Answer<"create_key">> {
    return this.send({ method: "POST", path: `/v1/admin/keys`, body: true }, { ...options });
  }

  /** End a key for good. */
  revoke(keyId: string): Promise<boolean> {
    return this.send({ method: "DELETE", path: `/v1/admin/keys/${encodeURIComponent(keyId)}`, missing: false }, {});
  }

}

export class Learning extends Handle {
  /** Return which features are on for this user: extraction, episodes, relationships, consolidation. */
  get(): Promise<Answer<"get_learning">> {
    return this.send({ method: "GET", path: `/v1/learning` }, {});
  }

  /** Switch features on or off for this user alone, and return all of them; what is not named stays as it is. */
  set(options: Given<"set_learning"> = {}): Promise<Answer<"set_learning">> {
    return this.send({ method: "PATCH", path: `/v1/learning`, body: true }, { ...options });
  }

  /** Learn what was said since, by rules and without vectors; return how many conversations were read. */
  catchUp(options: Given<"catch_up_learning"> = {}): Promise<Unwrapped<"catch_up_learning", "conversations">> {
    return this.send({ method: "POST", path: `/v1/learning/catch-up`, query: ["session_id"], unwrap: "conversations" }, { ...options });
  }

  /** Forget what was learned, to learn it anew from the messages; return the number of conversations. */
  restart(): Promise<Unwrapped<"restart_learning", "conversations">> {
    return this.send({ method: "POST", path: `/v1/learning/restart`, unwrap: "conversations" }, {});
  }

}

export class Preferences extends Handle {
  /** Return the user's own preferences by key; with `defaults` also those that apply because none was set. */
  list(options: Given<"list_preferences"> = {}): Promise<Unwrapped<"list_preferences", "items">> {
    return this.send({ method: "GET", path: `/v1/preferences`, query: ["type", "defaults"], unwrap: "items" }, { ...options });
  }

  /** Return the user's own preference, else the default, else None. */
  get(key: string): Promise<Answer<"get_preference"> | null> {
    return this.send({ method: "GET", path: `/v1/preferences/${encodeURIComponent(key)}`, missing: null }, {});
  }

  /** Keep how the user wants things, in place of the value before; a sensitive one is encrypted with their key. */
  set(key: string, value: Body<"set_preference">["value"], options: Rest<"set_preference", "value"> = {}): Promise<Answer<"set_preference">> {
    return this.send({ method: "PUT", path: `/v1/preferences/${encodeURIComponent(key)}`, body: true }, { ...options, value });
  }

  /** Remove a preference; return whether there was one. */
  forget(key: string): Promise<boolean> {
    return this.send({ method: "DELETE", path: `/v1/preferences/${encodeURIComponent(key)}`, missing: false }, {});
  }

}

export class Retention extends Handle {
  /** Return the policies, by session type. */
  list(): Promise<Unwrapped<"list_retention_policies", "items">> {
    return this.send({ method: "GET", path: `/v1/retention`, unwrap: "items" }, {});
  }

  /** Set the policy of a session type, or of all types that have none; spans count from the last activity. */
  set(sessionType: string, options: Given<"set_retention_policy"> = {}): Promise<Answer<"set_retention_policy">> {
    return this.send({ method: "PUT", path: `/v1/retention/${encodeURIComponent(sessionType)}`, body: true }, { ...options });
  }

  /** Remove a policy; return whether there was one. */
  forget(sessionType: string): Promise<boolean> {
    return this.send({ method: "DELETE", path: `/v1/retention/${encodeURIComponent(sessionType)}`, missing: false }, {});
  }

}

export class Sessions extends Handle {
  /** Store conversations that were held elsewhere, all or none; what is there already stays as it is. */
  addMany(conversations: Body<"import_sessions">["conversations"]): Promise<Answer<"import_sessions">> {
    return this.send({ method: "POST", path: `/v1/sessions`, body: true }, { conversations });
  }

  /** Return the sessions, the last active first; `status` is active or archived, `where` filters metadata. */
  list(options: Given<"list_sessions"> = {}): Promise<Unwrapped<"list_sessions", "items">> {
    return this.send({ method: "GET", path: `/v1/sessions`, query: ["status", "prefix", "type", "where", "limit", "offset"], unwrap: "items" }, { ...options });
  }

  /** Return a session, or None. */
  get(sessionId: string): Promise<Answer<"get_session"> | null> {
    return this.send({ method: "GET", path: `/v1/sessions/${encodeURIComponent(sessionId)}`, missing: null }, {});
  }

  /** Create a conversation; of one that is there, change what is given, its status and activity. */
  put(sessionId: string, options: Given<"put_session"> = {}): Promise<Answer<"put_session">> {
    return this.send({ method: "PUT", path: `/v1/sessions/${encodeURIComponent(sessionId)}`, body: true }, { ...options });
  }

  /** Remove a session with its messages, contexts and all else that hangs on it; return whether there was one. */
  delete(sessionId: string): Promise<boolean> {
    return this.send({ method: "DELETE", path: `/v1/sessions/${encodeURIComponent(sessionId)}`, missing: false }, {});
  }

  /** Put a session aside; a new message makes it active again. */
  archive(sessionId: string): Promise<Answer<"archive_session">> {
    return this.send({ method: "POST", path: `/v1/sessions/${encodeURIComponent(sessionId)}/archive` }, {});
  }

  /** Set the time of the last activity; return whether there is such a session. */
  touch(sessionId: string, options: Given<"touch_session"> = {}): Promise<boolean> {
    return this.send({ method: "POST", path: `/v1/sessions/${encodeURIComponent(sessionId)}/touch`, body: true, missing: false }, { ...options });
  }

  /** Count messages by role and tokens; return them with the first and last message and the average relevance. */
  summary(sessionId: string): Promise<Answer<"get_session_summary">> {
    return this.send({ method: "GET", path: `/v1/sessions/${encodeURIComponent(sessionId)}/summary` }, {});
  }

  /** Return the links from and to a session, the strongest first. */
  related(sessionId: string): Promise<Unwrapped<"list_session_links", "items">> {
    return this.send({ method: "GET", path: `/v1/sessions/${encodeURIComponent(sessionId)}/links`, unwrap: "items" }, {});
  }

  /** Link two sessions; the source is the earlier one. */
  link(sessionId: string, target: Body<"link_sessions">["target"], options: Rest<"link_sessions", "target"> = {}): Promise<Answer<"link_sessions">> {
    return this.send({ method: "POST", path: `/v1/sessions/${encodeURIComponent(sessionId)}/links`, body: true }, { ...options, target });
  }

}

export class Statements extends Handle {
  /** Return what was said, the newest first, at most 1000. */
  list(options: Given<"list_statements"> = {}): Promise<Unwrapped<"list_statements", "items">> {
    return this.send({ method: "GET", path: `/v1/statements`, query: ["about", "kind", "current", "session_id", "limit"], unwrap: "items" }, { ...options });
  }

  /** Return a statement, even a rejected one; None if there is none. */
  get(statementId: string): Promise<Answer<"get_statement"> | null> {
    return this.send({ method: "GET", path: `/v1/statements/${encodeURIComponent(statementId)}`, missing: null }, {});
  }

  /** Strike a statement out for good: it is not read from that span again; what it had replaced holds again. */
  reject(statementId: string): Promise<Answer<"reject_statement">> {
    return this.send({ method: "POST", path: `/v1/statements/${encodeURIComponent(statementId)}/reject` }, {});
  }

}

export class Users extends Handle {
  /** Return every user with stored data, by id. */
  list(options: Given<"list_users"> = {}): Promise<Unwrapped<"list_users", "items">> {
    return this.send({ method: "GET", path: `/v1/admin/users`, query: ["limit", "after"], unwrap: "items" }, { ...options });
  }

}

export class Working extends Handle {
  /** Return every value that has not expired, by its key. */
  all(): Promise<Unwrapped<"list_working_memory", "items">> {
    return this.send({ method: "GET", path: `/v1/sessions/${encodeURIComponent(this.sessionId)}/working`, unwrap: "items" }, {});
  }

  /** Remove every value; return how many there were. */
  clear(): Promise<Unwrapped<"clear_working_memory", "removed">> {
    return this.send({ method: "DELETE", path: `/v1/sessions/${encodeURIComponent(this.sessionId)}/working`, unwrap: "removed" }, {});
  }

  /** Return one value of working memory. */
  get(key: string): Promise<Unwrapped<"get_working_memory", "value"> | null> {
    return this.send({ method: "GET", path: `/v1/sessions/${encodeURIComponent(this.sessionId)}/working/${encodeURIComponent(key)}`, unwrap: "value", missing: null }, {});
  }

  /** Keep any JSON value, for `ttl` seconds or a timedelta if given. */
  set(key: string, value: Body<"set_working_memory">["value"], options: Rest<"set_working_memory", "value"> = {}): Promise<Answer<"set_working_memory">> {
    return this.send({ method: "PUT", path: `/v1/sessions/${encodeURIComponent(this.sessionId)}/working/${encodeURIComponent(key)}`, query: ["agent", "name"], opening: ["agent", "name"], body: true }, { ...options, value });
  }

  /** Remove a value; return whether there was one. */
  forget(key: string): Promise<boolean> {
    return this.send({ method: "DELETE", path: `/v1/sessions/${encodeURIComponent(this.sessionId)}/working/${encodeURIComponent(key)}`, missing: false }, {});
  }

}

export class Chat extends ChatHandle {
  get working(): Working {
    return new Working(this.scope);
  }

  get contexts(): Contexts {
    return new Contexts(this.scope);
  }

  /** Begin a new conversation with a copy of this one; with an idempotency key it is made once. */
  fork(options: Given<"fork_session"> = {}): Promise<Answer<"fork_session">> {
    return this.send({ method: "POST", path: `/v1/sessions/${encodeURIComponent(this.sessionId)}/fork`, body: true }, { ...options });
  }

  /** Return the messages from the beginning. */
  history(options: Given<"list_messages"> = {}): Promise<Unwrapped<"list_messages", "items">> {
    return this.send({ method: "GET", path: `/v1/sessions/${encodeURIComponent(this.sessionId)}/messages`, query: ["limit", "offset", "vectors"], unwrap: "items" }, { ...options });
  }

  /** Store a message; it is durable when this returns. */
  add(role: Body<"add_message">["role"], content: Body<"add_message">["content"], options: Rest<"add_message", "role" | "content"> = {}): Promise<Answer<"add_message">> {
    return this.send({ method: "POST", path: `/v1/sessions/${encodeURIComponent(this.sessionId)}/messages`, query: ["agent", "name"], opening: ["agent", "name"], body: true }, { ...options, role, content });
  }

  /** Store many messages at once, all or none. */
  addMany(messages: Body<"add_messages">["messages"], options: Rest<"add_messages", "messages"> = {}): Promise<Unwrapped<"add_messages", "items">> {
    return this.send({ method: "POST", path: `/v1/sessions/${encodeURIComponent(this.sessionId)}/messages/batch`, query: ["agent", "name"], opening: ["agent", "name"], body: true, unwrap: "items" }, { ...options, messages });
  }

  /** Store a message that comes from elsewhere, with all that it says of itself. */
  store(role: Body<"store_message">["role"], content: Body<"store_message">["content"], options: Rest<"store_message", "role" | "content"> = {}): Promise<Answer<"store_message">> {
    return this.send({ method: "POST", path: `/v1/sessions/${encodeURIComponent(this.sessionId)}/messages/ready`, query: ["agent", "name"], opening: ["agent", "name"], body: true }, { ...options, role, content });
  }

  /** Store what the user said and what the assistant answered, both or neither. */
  addInteraction(userMsg: Body<"add_interaction">["user_msg"], aiMsg: Body<"add_interaction">["ai_msg"], options: Rest<"add_interaction", "user_msg" | "ai_msg"> = {}): Promise<Unwrapped<"add_interaction", "items">> {
    return this.send({ method: "POST", path: `/v1/sessions/${encodeURIComponent(this.sessionId)}/interactions`, query: ["agent", "name"], opening: ["agent", "name"], body: true, unwrap: "items" }, { ...options, user_msg: userMsg, ai_msg: aiMsg });
  }

  /** Change what a message says. It keeps its id, index, role, time and key. */
  replace(messageId: string, content: Body<"replace_message">["content"], options: Rest<"replace_message", "content"> = {}): Promise<Answer<"replace_message">> {
    return this.send({ method: "PUT", path: `/v1/sessions/${encodeURIComponent(this.sessionId)}/messages/${encodeURIComponent(messageId)}`, body: true }, { ...options, content });
  }

  /** Remove a message and what was learned from it alone; summaries that told of it are made anew. */
  remove(messageId: string): Promise<void> {
    return this.send({ method: "DELETE", path: `/v1/sessions/${encodeURIComponent(this.sessionId)}/messages/${encodeURIComponent(messageId)}` }, {});
  }

  /** Return the newest messages, oldest first: at most `limit` of them, with at most `max_tokens` together. */
  window(options: Given<"get_window"> = {}): Promise<Unwrapped<"get_window", "items">> {
    return this.send({ method: "GET", path: `/v1/sessions/${encodeURIComponent(this.sessionId)}/window`, query: ["limit", "max_tokens"], unwrap: "items" }, { ...options });
  }

  /** Return the newest messages, ready for JSON, with the roles that models know. */
  snapshot(): Promise<Answer<"get_snapshot">> {
    return this.send({ method: "GET", path: `/v1/sessions/${encodeURIComponent(this.sessionId)}/snapshot` }, {});
  }

  /** Return what to send to a model: instructions, preferences, facts, memories, working memory and the window. */
  context(options: Given<"build_context"> = {}): Promise<Answer<"build_context">> {
    return this.send({ method: "POST", path: `/v1/sessions/${encodeURIComponent(this.sessionId)}/context`, opening: ["agent"], body: true }, { ...options });
  }

  /** Return messages of this conversation with their relevance, 0 to 1, best first; `where` filters metadata. */
  search(query: Body<"search_messages">["query"], options: Rest<"search_messages", "query"> = {}): Promise<Unwrapped<"search_messages", "items">> {
    return this.send({ method: "POST", path: `/v1/sessions/${encodeURIComponent(this.sessionId)}/search`, body: true, unwrap: "items" }, { ...options, query });
  }

}

export class Memory extends MemoryHandle {
  get keys(): Keys {
    return new Keys(this.scope);
  }

  get users(): Users {
    return new Users(this.scope);
  }

  /** Returns the memory of one user. */
  user(userId: string): User {
    return new User(this.of(userId));
  }

  /** Return the agents that a user can talk with. */
  agents(): Promise<Unwrapped<"list_agents", "items">> {
    return this.send({ method: "GET", path: `/api/agents`, unwrap: "items" }, {});
  }

  /** Return what changed in everyone's memory after an event. */
  feed(options: Given<"list_events_of_all_users"> = {}): Promise<Unwrapped<"list_events_of_all_users", "items">> {
    return this.send({ method: "GET", path: `/v1/admin/events`, query: ["after", "limit"], unwrap: "items" }, { ...options });
  }

  /** Check that a receipt of an erasure is genuine, and that no table holds anything of its user now. */
  verify(given: Body<"verify_receipt">): Promise<Answer<"verify_receipt">> {
    return this.send({ method: "POST", path: `/v1/admin/verify`, body: true }, { ...given });
  }

  /** Apply expiry, retention and pruning for all users; return how many rows each step touched. */
  maintain(): Promise<Answer<"run_maintenance">> {
    return this.send({ method: "POST", path: `/v1/admin/maintain` }, {});
  }

  /** Return how fast each operation is, and how large the tables are. */
  stats(): Promise<Answer<"get_stats">> {
    return this.send({ method: "GET", path: `/v1/admin/stats` }, {});
  }

  /** Return the state of schema, indexes, isolation, slow queries, disk and derived work. */
  health(): Promise<Answer<"get_health">> {
    return this.send({ method: "GET", path: `/v1/admin/health` }, {});
  }

  /** Try again what was set aside because it failed too often. */
  retry(): Promise<Answer<"retry_failed_work">> {
    return this.send({ method: "POST", path: `/v1/admin/retry` }, {});
  }

  /** Return whether it can serve: database, schema and worker. */
  ready(): Promise<Answer<"check_readiness">> {
    return this.send({ method: "GET", path: `/readyz` }, {});
  }

}

export class User extends UserHandle {
  get sessions(): Sessions {
    return new Sessions(this.scope);
  }

  get entries(): Entries {
    return new Entries(this.scope);
  }

  get documents(): Documents {
    return new Documents(this.scope);
  }

  get facts(): Facts {
    return new Facts(this.scope);
  }

  get statements(): Statements {
    return new Statements(this.scope);
  }

  get preferences(): Preferences {
    return new Preferences(this.scope);
  }

  get instructions(): Instructions {
    return new Instructions(this.scope);
  }

  get items(): Items {
    return new Items(this.scope);
  }

  get learning(): Learning {
    return new Learning(this.scope);
  }

  get retention(): Retention {
    return new Retention(this.scope);
  }

  get events(): Events {
    return new Events(this.scope);
  }

  /** Returns one conversation; an agent and a name are noted when it begins. */
  chat(sessionId: string, opening: Opening = {}): Chat {
    return new Chat(this.within(sessionId, opening));
  }

  /** Say something and be answered. Both turns are stored, also when nobody waits for the answer. */
  ask(message: Body<"chat">["message"], options: Rest<"chat", "message"> = {}): Promise<Answer<"chat">> {
    return this.send({ method: "POST", path: `/api/chat`, body: true }, { ...options, message });
  }

  /** Put an exported document into this user's memory, all or nothing; the rows added, by noun. */
  restore(document: Record<string, unknown>): Promise<Answer<"import_memory">> {
    return this.send({ method: "POST", path: `/v1/import` }, {}, document);
  }

  /** Return a message by its id, from whichever conversation, or None: what the source of a fact says. */
  message(messageId: string): Promise<Answer<"get_message"> | null> {
    return this.send({ method: "GET", path: `/v1/messages/${encodeURIComponent(messageId)}`, missing: null }, {});
  }

  /** Return what is remembered about a question, the best first; nothing when nothing is relevant. */
  search(query?: Body<"search_memory">["query"], options: Rest<"search_memory", "query"> = {}): Promise<Unwrapped<"search_memory", "items">> {
    return this.send({ method: "POST", path: `/v1/search`, body: true, unwrap: "items" }, { ...options, query });
  }

  /** Return the user's own facts that hold now and the preferences, for JSON; `notes` say which cannot be read. */
  profile(): Promise<Answer<"get_profile">> {
    return this.send({ method: "GET", path: `/v1/profile` }, {});
  }

  /** Return everything the user owns, as a document for JSON that `restore` reads back identically. */
  export(): Promise<Answer<"export_memory">> {
    return this.send({ method: "GET", path: `/v1/export` }, {});
  }

}

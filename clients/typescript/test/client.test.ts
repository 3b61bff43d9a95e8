// Run by tests/doors/test_typescript.py against a real server: LTST_URL is where it is.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";

import { LtstError, Memory } from "../src/index.ts";
import type { Schemas } from "../src/index.ts";

const baseUrl = process.env.LTST_URL ?? "http://localhost:8000";
const memory = new Memory({ baseUrl });
const someone = () => memory.user(`anna/${randomUUID()}`);

test("what was said in one chat is found from another", async () => {
  const anna = someone();
  const said = await anna.chat("monday", { agent: "coach", name: "First" }).add("user", "I moved to Lisbon in March.");
  assert.equal(said.role, "human");
  const hits: Schemas["Hit"][] = await anna.search("Where do I live?", { limit: 3 });
  assert.equal(hits[0]?.content, "I moved to Lisbon in March.");
  assert.equal((await anna.message(said.message_id ?? ""))?.content, said.content);
  const context = await anna.chat("tuesday").context({ query: "Where do I live?", max_tokens: 500 });
  assert.match(context.text, /Lisbon/);
  const session = await anna.sessions.get("monday");
  assert.deepEqual([session?.agent_name, session?.session_name], ["coach", "First"]);
});

test("a conversation is read, changed, copied and removed", async () => {
  const chat = someone().chat("a conversation/with a slash?");
  await chat.addMany([
    { role: "user", content: "One." },
    { role: "assistant", content: "Two.", metadata: { tool_calls: [{ id: "call_1", name: "f", arguments: "{}" }] } },
  ]);
  await chat.addInteraction("Three.", "Four.");
  const [first] = await chat.history({ limit: 1 });
  assert.deepEqual((await chat.window({ limit: 2 })).map((each) => each.content), ["Three.", "Four."]);
  assert.equal((await chat.replace(first?.message_id ?? "", "Zero.")).content, "Zero.");
  const copy = await chat.fork({ at: 2 });
  assert.notEqual(copy.session_id, chat.sessionId);
  assert.equal(await chat.remove(first?.message_id ?? ""), undefined);
  assert.equal((await chat.history()).length, 3);
  await chat.working.set("task", { step: 2 });
  assert.deepEqual(await chat.working.get("task"), { step: 2 });
  assert.equal(await chat.working.get("nothing"), null);
  assert.equal(await chat.working.clear(), 1);
});

test("the same message under a key is stored once", async () => {
  const chat = someone().chat("monday");
  for (let time = 0; time < 2; time++) await chat.add("user", "Hello.", { key: "k" });
  assert.equal((await chat.history()).length, 1);
});

test("facts, preferences, instructions, entries and documents", async () => {
  const anna = someone();
  await anna.facts.set("home", "Lisbon", { confidence: 0.5 });
  await anna.facts.set("home", "Porto", { about: "Dani" });
  assert.equal((await anna.facts.get("home"))?.fact_value, "Lisbon");
  assert.equal((await anna.facts.get("home", { about: "Dani" }))?.fact_value, "Porto");
  assert.equal(await anna.facts.get("nothing"), null);
  assert.equal((await anna.facts.history("home")).length, 1);
  assert.equal(await anna.facts.forget("home"), true);
  assert.equal(await anna.facts.forget("home"), false);
  await anna.preferences.set("tone", "brief");
  assert.equal((await anna.profile()).preferences.tone, "brief");
  await anna.instructions.set("coach", "Answer in rhymes.");
  assert.equal((await anna.instructions.list())[0]?.agent_name, "coach");
  const entry = await anna.entries.add("She has two cats.");
  assert.equal((await anna.entries.get(entry.entry_id ?? ""))?.content, "She has two cats.");
  const written = await anna.documents.addFile("# Tea\n\nGreen tea needs 80 degrees.", "text/markdown", { title: "Tea" });
  assert.equal((await anna.documents.get(written.document_id ?? ""))?.title, "Tea");
  assert.equal(typeof Object.values(await anna.learning.get())[0], "boolean");
});

test("an agent answers without a model", async () => {
  const anna = someone();
  await anna.ask("I live in Lisbon.", { chat_id: "monday" });
  const answer = await anna.ask("Where do I live?", { chat_id: "tuesday", idempotency_key: "once" });
  assert.match(answer.reply, /Lisbon/);
  const again = await anna.ask("Where do I live?", { chat_id: "tuesday", idempotency_key: "once" });
  assert.equal(again.reply_id, answer.reply_id);
});

test("one user does not see another's memory", async () => {
  const [anna, eve] = [someone(), someone()];
  const said = await anna.chat("monday").add("user", "My locker code is 4711.");
  assert.deepEqual(await eve.search("locker code"), []);
  assert.equal(await eve.message(said.message_id ?? ""), null);
  assert.equal(await eve.sessions.get("monday"), null);
});

test("a memory is exported, restored and erased", async () => {
  const [anna, copy] = [someone(), someone()];
  await anna.facts.set("home", "Lisbon");
  await copy.restore(await anna.export());
  assert.equal((await copy.facts.get("home"))?.fact_value, "Lisbon");
  assert.ok((await anna.events.list()).length > 0);
  const receipt = await anna.erase();
  assert.equal(receipt.user_id, anna.userId);
  assert.equal((await memory.verify(receipt)).ok, true);
  assert.deepEqual(await anna.facts.list(), []);
});

test("errors say what is accepted", async () => {
  await assert.rejects(someone().search("a", { limit: 0 }), (problem: unknown) => {
    assert.ok(problem instanceof LtstError);
    assert.equal(problem.status, 422);
    assert.match(problem.message, /limit/);
    assert.equal(problem.problem?.type, "urn:ltst:unprocessable-content");
    return true;
  });
  await assert.rejects(someone().chat("monday").remove(randomUUID()), { name: "LtstError", status: 404 });
  // A 404 of a wrong address, or of something in between, is no answer of the memory.
  const wrong = new Memory({ baseUrl: `${baseUrl}/nowhere` });
  await assert.rejects(wrong.user("anna").facts.get("home"), { name: "LtstError", status: 404 });
  const between = new Memory({ baseUrl, fetch: async () => new Response("<h1>Not Found</h1>", { status: 404 }) });
  await assert.rejects(between.user("anna").facts.get("home"), { name: "LtstError", problem: null });
});

test("a server that is not there, and one that takes too long", async () => {
  await assert.rejects(new Memory({ baseUrl: "http://127.0.0.1:9" }).stats(), TypeError);
  const slow: typeof fetch = (_, init) =>
    new Promise((_resolve, reject) => init?.signal?.addEventListener("abort", () => reject(init.signal?.reason)));
  await assert.rejects(new Memory({ baseUrl, timeout: 20, fetch: slow }).stats(), { name: "TimeoutError" });
});

test("keys", { skip: process.env.LTST_ADMIN_KEY === undefined ? "no key was given" : false }, async () => {
  const admin = new Memory({ baseUrl, apiKey: process.env.LTST_ADMIN_KEY ?? "" });
  const anna = `anna-${randomUUID()}`;
  const key = await admin.keys.create({ user_id: anna, name: "laptop" });
  const own = new Memory({ baseUrl, apiKey: key.secret });
  await own.user(anna).facts.set("home", "Lisbon");
  await assert.rejects(own.user("eve").facts.list(), { status: 403 });
  assert.ok((await admin.users.list()).some((each) => each.user_id === anna));
  assert.equal(await admin.keys.revoke(key.key_id), true);
  assert.equal(await admin.keys.revoke(key.key_id), false);
  await assert.rejects(own.user(anna).facts.list(), { status: 401 });
});

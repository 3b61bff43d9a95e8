// The official JavaScript client against the proxy; run by tests/doors/test_http_openai_js.py.
// Prints one JSON object: what each call came to.
import OpenAI from "openai";

const client = new OpenAI({
  baseURL: `${process.env.LTST_URL}/v1`,
  apiKey: "of no use here",
  maxRetries: 0,
  defaultHeaders: { "X-User-Id": "ana" },
});
const chat = (id) => ({ headers: { "X-Chat-Id": id } });
const tool = { type: "function", name: "book_table", parameters: { type: "object", properties: {} }, strict: false };
const told = {};

await client.responses.create({ model: "scripted", input: "I live in Lisbon." }, chat("monday"));
told.response = (await client.responses.create({ model: "scripted", input: "Where do I live?" }, chat("tuesday"))).output_text;

const deltas = [];
const stream = client.responses.stream({ model: "scripted", input: "And now?" }, chat("wednesday"));
for await (const event of stream) if (event.type === "response.output_text.delta") deltas.push(event.delta);
told.streamed = { deltas, whole: (await stream.finalResponse()).output_text };

const input = [{ role: "user", content: "Book a table." }];
const calling = await client.responses.create({ model: "scripted", input, tools: [tool] }, chat("thursday"));
const call = calling.output.find((each) => each.type === "function_call");
input.push(...calling.output, { type: "function_call_output", call_id: call.call_id, output: "19:30" });
told.called = call.name;
told.booked = (await client.responses.create({ model: "scripted", input, tools: [tool] }, chat("thursday"))).output_text;

const messages = [{ role: "user", content: "Hello" }];
told.completion = (await client.chat.completions.create({ model: "scripted", messages }, chat("friday"))).choices[0].message.content;
told.chunks = "";
for await (const chunk of await client.chat.completions.create({ model: "scripted", messages, stream: true }, chat("friday"))) {
  told.chunks += chunk.choices[0]?.delta?.content ?? "";
}

told.recalled = (await client.responses.create({ model: "ltst/recall", input: "Where do I live?" })).output_text;
const recalled = client.responses.stream({ model: "ltst/recall", input: "Where do I live?" });
told.kinds = [];
for await (const event of recalled) told.kinds.push(event.type);

const vectors = await client.embeddings.create({ model: "ltst/embedder", input: ["one", "two"] });
told.vectors = vectors.data.map((each) => each.embedding.length);
told.model = (await client.models.retrieve("ltst/recall")).id;
told.models = (await client.models.list()).data.map((each) => each.id);

try {
  await client.responses.create({ model: "scripted", input: [] });
} catch (problem) {
  told.refused = [problem instanceof OpenAI.APIError, problem.status, problem.message];
}
console.log(JSON.stringify(told));

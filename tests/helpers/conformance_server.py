"""A server of the protocol with the tools, resources and prompts that the conformance suite asks for by name.

It stands behind the same gate and the same transports as ltst's own, so that the suite's scenarios try these.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import mcp_types as protocol
import uvicorn
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from ltst import AsyncMemory, Settings
from ltst.doors.mcp.app import Serving, around
from ltst.doors.mcp.toolbox import ToolCall, failed

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
SOUND = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
TEMPLATE = "test://template/"
SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


def text(said: str) -> protocol.TextContent:
    return protocol.TextContent(type="text", text=said)


def image() -> protocol.ImageContent:
    return protocol.ImageContent(type="image", data=PIXEL, mime_type="image/png")


def embedded(uri: str, kind: str, said: str) -> protocol.EmbeddedResource:
    contents = protocol.TextResourceContents(uri=uri, mime_type=kind, text=said)
    return protocol.EmbeddedResource(type="resource", resource=contents)


async def progress(asked: ToolCall) -> protocol.CallToolResult:
    for done in (0, 50, 100):
        await asked.report(done, 100, None)
        await asyncio.sleep(0.05)
    return answer(text("done"))


async def incapable(_: ToolCall) -> protocol.CallToolResult:
    needed = {"requiredCapabilities": {"sampling": {}}}
    raise MCPError(protocol.MISSING_REQUIRED_CLIENT_CAPABILITY, "this needs sampling", needed)


def answer(*content: protocol.ContentBlock) -> protocol.CallToolResult:
    return protocol.CallToolResult(content=list(content))


def always(result: protocol.CallToolResult) -> Callable[[ToolCall], Awaitable[protocol.CallToolResult]]:
    async def run(_: ToolCall) -> protocol.CallToolResult:
        return result

    return run


TOOLS: Mapping[str, Callable[[ToolCall], Awaitable[protocol.CallToolResult]]] = {
    "test_simple_text": always(answer(text("This is a simple text response for testing."))),
    "test_image_content": always(answer(image())),
    "test_audio_content": always(
        answer(protocol.AudioContent(type="audio", data=SOUND, mime_type="audio/wav")),
    ),
    "test_embedded_resource": always(
        answer(embedded("test://embedded-resource", "text/plain", "This is an embedded resource content."))
    ),
    "test_multiple_content_types": always(
        answer(
            text("Multiple content types test:"),
            image(),
            embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
        )
    ),
    "test_error_handling": always(failed("This tool intentionally returns an error for testing", "Invalid")),
    "test_tool_with_progress": progress,
    "test_streaming_elicitation": progress,
    "test_logging_tool": always(answer(text("nothing was logged"))),
    "test_missing_capability": incapable,
    "json_schema_2020_12_tool": always(answer(text("valid"))),
}
RESOURCES: Mapping[str, protocol.TextResourceContents | protocol.BlobResourceContents] = {
    "test://static-text": protocol.TextResourceContents(
        uri="test://static-text", mime_type="text/plain", text="This is the content of the static text resource."
    ),
    "test://static-binary": protocol.BlobResourceContents(
        uri="test://static-binary", mime_type="image/png", blob=PIXEL
    ),
}
PROMPTS: Mapping[str, Callable[[Mapping[str, str]], list[protocol.ContentBlock]]] = {
    "test_simple_prompt": lambda given: [text("This is a simple prompt for testing.")],
    "test_prompt_with_arguments": lambda given: [text(f"arg1={given['arg1']!r}, arg2={given['arg2']!r}")],
    "test_prompt_with_embedded_resource": lambda given: [
        embedded(given["resourceUri"], "text/plain", "Embedded resource content for testing."),
        text("Please process the embedded resource above."),
    ],
    "test_prompt_with_image": lambda given: [image(), text("Please analyze the image above.")],
}
ARGUMENTS = {
    "test_prompt_with_arguments": ("arg1", "arg2"),
    "test_prompt_with_embedded_resource": ("resourceUri",),
}


async def list_tools(_: Any, __: Any) -> protocol.ListToolsResult:
    schemas = {"json_schema_2020_12_tool": SCHEMA}
    return protocol.ListToolsResult(
        tools=[
            protocol.Tool(name=name, description=name, input_schema=schemas.get(name, {"type": "object"}))
            for name in TOOLS
        ]
    )


async def call_tool(request: Any, given: protocol.CallToolRequestParams) -> protocol.CallToolResult:
    if given.name not in TOOLS:
        raise MCPError(protocol.INVALID_PARAMS, "no such tool")
    nobody: Any = None
    return await TOOLS[given.name](ToolCall(nobody, request.session.report_progress))


async def list_resources(_: Any, __: Any) -> protocol.ListResourcesResult:
    return protocol.ListResourcesResult(resources=[protocol.Resource(uri=uri, name=uri) for uri in RESOURCES])


async def list_templates(_: Any, __: Any) -> protocol.ListResourceTemplatesResult:
    template = protocol.ResourceTemplate(uri_template=f"{TEMPLATE}{{id}}/data", name="template")
    return protocol.ListResourceTemplatesResult(resource_templates=[template])


async def read_resource(_: Any, given: protocol.ReadResourceRequestParams) -> protocol.ReadResourceResult:
    found = RESOURCES.get(given.uri)
    if given.uri.startswith(TEMPLATE):
        said = json.dumps({"id": given.uri.removeprefix(TEMPLATE).removesuffix("/data"), "templateTest": True})
        found = protocol.TextResourceContents(uri=given.uri, mime_type="application/json", text=said)
    if found is None:
        raise MCPError(protocol.INVALID_PARAMS, "no such resource", {"uri": given.uri})
    return protocol.ReadResourceResult(contents=[found])


async def list_prompts(_: Any, __: Any) -> protocol.ListPromptsResult:
    return protocol.ListPromptsResult(
        prompts=[
            protocol.Prompt(
                name=name,
                description=name,
                arguments=[protocol.PromptArgument(name=each, required=True) for each in ARGUMENTS.get(name, ())],
            )
            for name in PROMPTS
        ]
    )


async def get_prompt(_: Any, given: protocol.GetPromptRequestParams) -> protocol.GetPromptResult:
    said = PROMPTS[given.name](given.arguments or {})
    return protocol.GetPromptResult(messages=[protocol.PromptMessage(role="user", content=each) for each in said])


async def complete(_: Any, __: Any) -> protocol.CompleteResult:
    return protocol.CompleteResult(completion=protocol.Completion(values=[]))


def server() -> Server[Any]:
    return Server(
        "conformance",
        version="1",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_completion=complete,
    )


def run(home: Path) -> None:
    """Serve on a free port, which is printed, until told to stop."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        serving = Serving(Settings.from_environment(home=home), port=port)
        app = around(server(), serving, AsyncMemory(settings=serving.settings), opens=True)
        print(f"http://localhost:{port}/mcp", flush=True)
        uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[taken])


if __name__ == "__main__":
    run(Path(sys.argv[1]))

# SPDX-License-Identifier: BSD-3-Clause
"""serving.py: the protocol, by the official SDK, over standard input and output."""

from __future__ import annotations

import threading
from typing import Any

from torchtraceap import _core
from torchtraceap.mcp_server.table import INSTRUCTIONS, TOOLS, checked
from torchtraceap.mcp_server.tools import TraceTools


def serve(tools: TraceTools) -> None:
    """Answer a client until it closes standard input.

    Meanwhile what else writes to standard output goes to standard error. A worker may
    then still analyze a trace that nobody waits for.

    Raises ImportError that names the extra, if the SDK is not installed.
    """
    try:
        import anyio
        from mcp.server.lowlevel import Server
        from mcp.server.stdio import stdio_server
    except ImportError as error:
        raise ImportError(
            "the MCP server needs the official SDK. Install it with "
            f"pip install 'torchtraceap[mcp]' ({error})"
        ) from error
    import mcp_types as types

    async def list_tools(context: Any, asked: Any) -> types.ListToolsResult:
        hints = types.ToolAnnotations(
            read_only_hint=True, idempotent_hint=True, open_world_hint=False
        )
        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name=name,
                    title=tool.title,
                    description=tool.description,
                    input_schema=tool.schema,
                    annotations=hints,
                )
                for name, tool in TOOLS.items()
            ]
        )

    async def call_tool(context: Any, asked: Any) -> types.CallToolResult:
        abandoned = threading.Event()

        def ask() -> tuple[str, bool]:
            name, arguments = asked.name, asked.arguments or {}
            return tools.answer(
                lambda of: checked(name, arguments)(of), abandoned.is_set
            )

        try:
            # Not on this thread, so that the protocol stays responsive.
            text, failed = await anyio.to_thread.run_sync(ask, abandon_on_cancel=True)
        finally:
            abandoned.set()
        content = [types.TextContent(type="text", text=text)]
        return types.CallToolResult(content=content, is_error=failed)

    server: Any = Server(
        "torchtraceap",
        version=_core.__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )

    async def run() -> None:
        async with stdio_server() as streams:
            await server.run(*streams, server.create_initialization_options())

    anyio.run(run)

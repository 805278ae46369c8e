# SPDX-License-Identifier: BSD-3-Clause
"""mcp_server: analyses for agents, by the Model Context Protocol (docs/cli.md).

No language model is called: the agent is one.
"""

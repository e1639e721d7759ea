"""A server of three tools on the PyPI package `mcp`, of whichever version the interpreter has.

Usage: three_tools_mcp.py PORT [sse]. Serves Streamable HTTP at http://127.0.0.1:PORT/mcp, or with `sse` HTTP+SSE at
http://127.0.0.1:PORT/sse, until it is killed.
"""

import sys

NAME = "three-tools"
INSTRUCTIONS = "Counts words, shifts dates and converts temperatures. Nothing it does leaves this process."


def new_server(port):
    """The server, and the arguments of its `run`: the packages of 1.x take the address when made, 2.x when run."""
    try:
        from mcp.server.mcpserver import MCPServer
    except ImportError:
        from mcp.server.fastmcp import FastMCP

        return FastMCP(NAME, instructions=INSTRUCTIONS, host="127.0.0.1", port=port, log_level="WARNING"), {}
    server = MCPServer(NAME, instructions=INSTRUCTIONS, version="1.4.0", log_level="WARNING")
    return server, {"host": "127.0.0.1", "port": port}


def main():
    server, arguments = new_server(int(sys.argv[1]))

    @server.tool()
    def count_words(text: str) -> int:
        """Counts the words of a text."""
        return len(text.split())

    @server.tool()
    def shift_date(day: str, days: int = 1) -> str:
        """Gives the date that lies a number of days after another."""
        from datetime import date, timedelta

        return (date.fromisoformat(day) + timedelta(days=days)).isoformat()

    @server.tool()
    def to_fahrenheit(celsius: float) -> float:
        """Converts a temperature from degrees Celsius to degrees Fahrenheit."""
        return celsius * 9 / 5 + 32

    transport = sys.argv[2] if len(sys.argv) > 2 else "streamable-http"
    server.run(transport, **arguments)


if __name__ == "__main__":
    main()
